"""Differences of texts: found within a bound, explained line by line, and written in several formats."""
