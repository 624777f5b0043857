"""Endpoints for keys, jobs, usage, prices, payments, health and metrics."""
