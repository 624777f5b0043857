"""Sites: what their owners say about them, and how robots fare there."""
