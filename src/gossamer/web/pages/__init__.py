"""The nouns of pages: what is asked of one, how it is fetched, and what it says."""
