"""Office documents and books: each becomes HTML, which is then read like a page."""
