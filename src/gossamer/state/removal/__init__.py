"""Deletions that were accepted, and what a tenant has."""
