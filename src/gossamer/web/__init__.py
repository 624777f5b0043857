"""What the web means: pure rules, no I/O, no clock, no settings."""
