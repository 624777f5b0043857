"""Main content: the part of a page that is its content, decided block by block."""
