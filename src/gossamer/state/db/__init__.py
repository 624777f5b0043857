"""The database: one interface, SQLite and PostgreSQL behind it.

- Every use has a deadline and ends by cutting the connection, because a frozen server would not answer
  politely either.
- SQLite has one writer and readers that cannot write. Waiting for the lock is retried every 20 ms; left
  alone, SQLite retries ever less often. A change that is one statement goes through `single`: alone on
  PostgreSQL, batched into one commit on SQLite.
- Slow work (searches, lists, statistics, exports) goes through `Database.scan`: two at a time, a bounded
  queue, three seconds.
- Busy is not away (`slots`): only if no use was served for a whole deadline does the database count as
  silent. After three uses without a connection, further ones fail at once, and one a second tries again.
- Times are the database's. A clock that was set back is noticed by a heartbeat in the future and corrected
  (`clock_steps`).
"""
