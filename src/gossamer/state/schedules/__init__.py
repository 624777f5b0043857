"""Schedules as they are stored, with the history of their runs.

Every function works on an open connection, so whatever owns a schedule adds, changes and removes it in a
transaction of its own. `schedules` has the schedules, `schedule_leases` who fires one, `schedule_runs` what
became of it.
"""
