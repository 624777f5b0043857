"""Made-up sites of a dozen pages each, with prose that stands on many pages and is the content of none.

Each site puts such prose where a page alone does not tell it from content: between the paragraphs of an
article, below a product, before a manual. The words are made up, and no two pages have a sentence in common
that is their own.
"""

from bench.site_pages.commerce import REVIEWS, SHOP
from bench.site_pages.publishing import BLOG, NEWS
from bench.site_pages.reference import COUNCIL, MANUAL
from bench.site_pages.site import PAGES, MadeSite, SitePage

SITES = (NEWS, BLOG, REVIEWS, SHOP, MANUAL, COUNCIL)

__all__ = ("PAGES", "SITES", "MadeSite", "SitePage")
