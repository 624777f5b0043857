"""Rules of a crawl: its options, scope, priorities, what it takes from a page, and near-duplicates."""
