"""PDF: its text, its structure as far as the layout tells it, and pictures of pages that were scanned."""
