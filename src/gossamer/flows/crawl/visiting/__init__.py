"""One URL of a crawl: fetch or render it, parse it once, and turn the answer into rows and new URLs."""
