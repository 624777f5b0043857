"""Endpoints for operators: archives, replays, and who stores how much."""
