"""`gossamer crawl` and `gossamer crawls`: start, follow, list and export crawls."""
