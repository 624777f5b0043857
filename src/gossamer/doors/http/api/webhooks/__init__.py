"""Endpoints about webhooks: who is told, what was delivered, and the secrets that sign it."""
