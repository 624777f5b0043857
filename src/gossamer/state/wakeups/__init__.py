"""Wake-ups between processes: NOTIFY on PostgreSQL, the write-ahead log on SQLite."""
