"""Keeping the service up: health, supervised background tasks, periodic work, and stopping in stages."""
