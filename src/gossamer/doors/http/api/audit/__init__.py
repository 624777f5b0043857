"""Endpoints for audits and their reports."""
