"""The ledger of payments, and what facilitators support."""
