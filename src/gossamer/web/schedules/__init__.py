"""Schedules: when something runs, again and again, and what became of each run. No I/O: the time comes in."""
