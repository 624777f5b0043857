"""Embeddings: pages are found by what they mean, if the operator has a model for that. Imported only then."""
