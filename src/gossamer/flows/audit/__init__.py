"""Audits: obtain one page or a site, run the checks, and store the report."""
