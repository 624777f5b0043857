"""The worker: lease jobs, run them, renew the leases, and settle the results."""
