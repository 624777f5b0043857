"""Wake-ups between processes: NOTIFY on PostgreSQL, the change counter on SQLite."""
