"""Everything that lasts."""
