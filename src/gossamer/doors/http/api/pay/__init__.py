"""Prices, the ledger of payments, and orders, over HTTP."""
