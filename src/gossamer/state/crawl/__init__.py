"""Tables of crawls: crawls, frontier, hosts and their leases, pages, counts and statistics."""
