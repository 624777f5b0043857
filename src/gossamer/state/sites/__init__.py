"""The sites that are registered, and what robots asked of them."""
