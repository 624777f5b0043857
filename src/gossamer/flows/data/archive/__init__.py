"""Archives of crawled pages: written before pages are removed, listed, taken away, and restored."""
