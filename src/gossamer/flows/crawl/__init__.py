"""Crawl: hosts are leased and crawled at their own pace, and the results are written in batches.

    worker ── leases a host ──> host ── robots, pace, gate: may it be asked now? ──┐
      ^                          ^ batches of URLs, through frontier_batcher       v
      │ plan: what the crawl wants                             visit ── fetch ── page_processor
      │                                                                            │
    watch <── counts ── database <── one transaction <── writer, content <─────────┘
                           └── pages that the search index lacks ──> indexing, in a process of its own

`seeds` starts crawls, `known_urls` remembers what was written before, `results` reads what was stored, and
`managing` has what people do with crawls.
"""
