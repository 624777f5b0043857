"""Endpoints for crawls, their pages, hosts, frontier and statistics."""
