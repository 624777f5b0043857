"""Callers: who is asking, and the keys that they ask with. Concurrent requests with the same key share one
lookup.
"""
