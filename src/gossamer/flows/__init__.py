"""What a caller can ask for. A flow joins reach and state, and opens the transactions."""
