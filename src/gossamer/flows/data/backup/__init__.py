"""Backups: make them, check them, restore them, and move everything to another database.

- `back_up` reads the rows in one snapshot, then copies the blobs that they name, reads back what it wrote,
  and writes the manifest last.
- `restore` checks before it writes: nothing is changed by a wrong key, a missing or a damaged object. All
  rows are written in one transaction, which also takes away what must not outlive a restore (`voiding`).
- `move` is both at once, from one database to another.
- `drill` restores into a scratch place, and compares.
"""
