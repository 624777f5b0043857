"""Crawlers under measurement: programs that their own interpreters run, one crawl each.

    python -m bench.crawlers.NAME FOLDER SEEDS     SEEDS: a file of URLs, one a line, whose hosts are crawled

Each obeys robots.txt, waits for nothing between requests, follows every link within those hosts once, and
keeps of each page what `store` says. What it fetched is counted in the server's log.
"""
