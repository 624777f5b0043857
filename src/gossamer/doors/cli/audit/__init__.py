"""`gossamer audit`: a page or a site, as a report in the terminal or a file."""
