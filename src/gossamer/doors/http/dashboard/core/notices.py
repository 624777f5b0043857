"""The sentences that a page shows after a form has done its work, by the code in the address."""

from typing import Final

NOTICES: Final[dict[str, str]] = {
    "signed-out": "You are signed out.",
    "crawl-started": "The crawl has begun.",
    "crawl-paused": "The crawl is paused. Pages that were being fetched are still stored.",
    "crawl-resumed": "The crawl goes on.",
    "crawl-stopped": "The crawl is stopped for good. Its pages stay.",
    "crawl-deleting": "The crawl is being deleted, with all its pages.",
    "domain-reset": "The host is tried again. Its failures and its robots.txt are forgotten.",
}
