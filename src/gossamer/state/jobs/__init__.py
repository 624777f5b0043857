"""The job queue, its leases and its events.

On PostgreSQL putting, claiming, renewing and settling are one statement each, sent straight to the driver
and planned once; SQLite does the same in a short transaction. Three events are not stored: that a job was
put, first begun and ended follows from its row. A job's tenant is looked up by the statement that puts it;
a foreign key would lock the tenant's row for every job. Followers of jobs share one read of all jobs twice
a second, and one read of each new event.
"""
