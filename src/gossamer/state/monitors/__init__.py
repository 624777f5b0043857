"""Monitors as rows: what is watched, the last good look at each page, changes, and the last checks.

A page of a monitor has one current snapshot. A change names the snapshots before and after it, which stay as
long as the change does. Large snapshots and pictures are blobs: orphans until their row names them.
"""
