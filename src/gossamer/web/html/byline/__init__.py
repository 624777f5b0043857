"""Byline: the title of a page, who wrote it and when, as it says beside its headline."""
