"""Storms: the promises of the whole, kept while things are broken on purpose. `scripts/soak` lists them."""
