"""The HTTP door: one list of middleware around one router."""
