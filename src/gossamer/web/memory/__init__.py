"""Rules of memory: what an entry is, which names it may have, and what of it is searched."""
