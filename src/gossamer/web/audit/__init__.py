"""Audits: what is checked, what a check found, and the score."""
