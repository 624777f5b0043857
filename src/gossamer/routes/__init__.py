"""Every route by subject: the endpoints of the API, and the pages of the dashboard that share them."""
