"""Crawls as they are shown: one as it is now, and the pages of all."""
