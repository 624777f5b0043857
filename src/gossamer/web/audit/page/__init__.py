"""Checks of one page, by theme, and the page that they look at."""
