"""Checks of a site as a whole, and what they need to know of each page."""
