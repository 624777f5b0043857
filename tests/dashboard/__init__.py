"""The dashboard as people use it: a real Chromium, a real server, a small shop to crawl."""
