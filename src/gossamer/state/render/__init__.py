"""Render jobs by page, and renders that failed for good."""
