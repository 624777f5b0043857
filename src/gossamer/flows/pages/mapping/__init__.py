"""Mapping: finds the addresses of a site's pages.

`mapper` reads what the site says of itself, one polite request at a time, and `known` asks our own database.
What they find goes into `SiteLinks` (`web/crawl/site_links`), which keeps each page of the site once.
"""
