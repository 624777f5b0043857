"""Commands for those who run Gossamer."""
