"""Monitors: what is watched, what counts as a change, what is noise, and how a difference is shown.

page_snapshot   what a look at a page has found
monitor_spec    what is watched, and the rules that say what counts
noise           what differs without meaning anything: ages, counters, ids, dates of today, order
text_diff       two texts line by line; every difference is a change or has its noise
verdict         what the rules say about two snapshots, with a reason for each decision
"""
