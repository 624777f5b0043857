"""Webhooks: what can be told, to whom, and how a delivery ends."""
