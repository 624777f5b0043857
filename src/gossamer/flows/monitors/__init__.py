"""Monitors: look at what is watched, compare it with the last good look, and tell what really changed.

page_looker     one fetch or visit, read in every way that the rules need
look_sources    a page, a list, a crawl or a search as looks
monitor_check   the job: look, compare, confirm, and write everything in the transaction that ends it
monitors        making, changing and removing monitors
"""
