"""Refreshing: when the pages of a crawl that is kept fresh are visited, and the versions they had.

Only crawls that are kept fresh have rows here, so others cost nothing.
"""
