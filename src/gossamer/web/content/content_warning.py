"""Why the content of a page may be wrong."""

from enum import StrEnum


class ContentWarning(StrEnum):
    WHOLE_PAGE = "whole_page"  # too little looked like main content, so this is everything
    PARTIAL = "partial"  # most sentences of the page were left out
    UNCERTAIN = "uncertain"  # the confidence is low
    FROM_DATA = "from_data"  # the page shows next to nothing: this is from the data in its scripts
