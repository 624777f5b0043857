"""Noise: what differs between two looks at a page without meaning anything."""
