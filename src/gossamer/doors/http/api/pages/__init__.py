"""Endpoints for agents: fetch, extract, search, screenshot, PDF and batches."""
