"""Batches: up to a thousand pages in one job, line by line."""
