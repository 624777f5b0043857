"""Schedules: start work again and again.

`scheduler` is the background task that fires what is due, in every server and worker. `starter` is what a
kind of work implements to be fired; `task_starters` are those of crawls, batches and audits.
`schedule_keeper` makes and changes schedules for callers.
"""
