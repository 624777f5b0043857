"""Rendered pages: what is asked of a render, and a page prepared for serving."""
