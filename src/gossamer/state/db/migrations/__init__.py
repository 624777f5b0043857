"""The schema, one revision at a time."""
