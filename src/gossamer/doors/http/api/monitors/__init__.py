"""Monitors over HTTP."""
