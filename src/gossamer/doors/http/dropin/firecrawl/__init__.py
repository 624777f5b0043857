"""The door for Firecrawl's clients: `/v1/*` and `/v2/*`, translated into calls of our own API.

`requests` reads what its clients send, `documents` writes pages as they read them, and `dialect` errors.
`scraping`, `finding` and `jobs` relay the calls; `job_socket` tells watchers what a job does.
"""
