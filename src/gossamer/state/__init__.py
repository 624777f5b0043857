"""Everything that lasts: database, hot store and blobs, and the tables by subject."""
