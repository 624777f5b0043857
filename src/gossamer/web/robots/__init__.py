"""What sites say to robots: robots.txt, sitemaps, directives, and who the robots are."""
