"""Endpoints for rendered pages and their cache."""
