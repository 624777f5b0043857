"""The caller's JSON Schema: its fields, what they mean, and how values are fitted to it."""
