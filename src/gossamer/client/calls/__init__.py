"""Calls that are more than one request, or that few programs need."""
