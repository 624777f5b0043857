"""Keeping crawls fresh: the schedule that each of them has, what it starts, and what callers ask of it."""
