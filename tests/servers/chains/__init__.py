"""Chains that live and end with a test, and a facilitator that settles on them: real signatures, no money."""
