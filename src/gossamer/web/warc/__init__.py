"""Web archives: WARC 1.1 (ISO 28500), CDXJ indexes, and WACZ 1.1.1."""
