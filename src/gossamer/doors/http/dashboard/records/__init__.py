"""The pages about what was done: jobs, audits, the cache of rendered pages, and batches."""
