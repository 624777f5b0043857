"""Services that the operator configured: facilitators, chain nodes, search providers, a language model."""
