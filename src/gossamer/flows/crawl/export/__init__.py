"""Crawls as files of web archives: WARC and WACZ, out and in."""
