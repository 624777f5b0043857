"""Tenants, keys, limits, back-off, idempotency and usage."""
