"""Markdown from the original tree, so that tables, lists, code and headings keep their structure."""
