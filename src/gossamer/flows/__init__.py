"""What a caller can ask for: plain functions that join reach and state."""
