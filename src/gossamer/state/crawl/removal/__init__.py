"""Deleting what crawls have stored."""
