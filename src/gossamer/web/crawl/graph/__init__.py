"""The graph of a crawl: links as they are kept, and what can be computed from them."""
