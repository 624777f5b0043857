"""Crawl: hosts are leased, walked at their pace, and what became of their URLs is written together.

    worker ── leases a host ──> host ── robots, pace, gate: may it be asked now? ──┐
      ^                          ^ batches of URLs, through the desk               v
      │ plan: what the crawl wants                                             visit ── fetch ── harvest
      │                                                                            │
    watch <── counts ── database <── one transaction <── writer, content <─────────┘
                           └── what the search index lacks ──> indexing, in a process of its own

`seeds` is where a crawl begins, `known` what it need not write down again, `results` what it has stored.
"""
