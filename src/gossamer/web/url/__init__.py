"""Addresses: URLs by the WHATWG rules, IP addresses, domains and selectors."""
