"""The search index: our words in FTS5 or in tsvectors, so that both databases find the same.

Tenant, site and language are words that no page can contain, so one tenant's pages are found without
visiting all others. Only a bounded number of matches is ranked, titles first. A crawl does not wait for the
index: the transaction that stores a batch of pages queues it with one row, and any number of processes
follow.
"""
