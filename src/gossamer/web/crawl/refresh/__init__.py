"""Refreshing: the rules by which a crawl is kept fresh.

page_change     what an answer to a later visit means: a change, no change, noise, a page that is gone
visit_history   what the visits to a page have shown, and how often it changes
revisit         when a page is visited again, and which of the due ones come first
freshness       how fresh a crawl is, as answers show it
"""
