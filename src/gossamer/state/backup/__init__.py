"""Backups: every row of the database in one format for both databases, and what it needs to be believed.

- `row_store` reads all rows of a database in one snapshot, and writes them in one transaction.
  `dumped_tables` says which tables that are. The words of the search index differ by database: they are made
  again from their pages.
- `backup_place` keeps backups in a folder or a bucket. Each object is sealed by itself, under its own name
  (`sealing`), so that none can be changed or take the place of another. The manifest names them all and is
  written last: a backup without one does not exist.
- `backups` in the room above has the rows about backups and restores: the hold that keeps blobs from being
  dropped while they are copied, the last good backup, and the mark of a restore that has not ended.
"""
