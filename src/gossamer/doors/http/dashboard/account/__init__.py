"""Pages about who may come in and what they use: people, keys, usage, payments, tenants and settings."""
