"""Refreshing: the rules by which a crawl is kept fresh.

page_change     what an answer to a later visit means: a change, no change, noise, a page that is gone
visit_history   what the visits to a page have shown, and how often it changes
revisit         when a page is visited again, and which of the due ones come first
sitemap_hints   what a sitemap says of its pages, and whether that is to be believed
importance      how much the freshness of a page matters
freshness       how fresh a crawl is, as answers show it
"""
