"""The graph of a crawl: reading the kept links, computing it, and writing it to files."""
