"""Doors for clients of other products: each translates their calls into calls to our own API."""
