"""trafilatura: its own fetch and extract. `fast` leaves out its fallbacks.

Threads download and one at a time extracts, as its documentation has it. That is also kinder to it than
threads that do both: they only take the interpreter away from each other.
"""

import sys
from copy import deepcopy
from threading import Lock

from trafilatura import __version__, extract, fetch_url
from trafilatura.settings import DEFAULT_CONFIG

from bench.contenders.worker import Read, serve_threads


def reader(*, fast: bool) -> Read:
    config = deepcopy(DEFAULT_CONFIG)
    config["DEFAULT"]["SSRF_PROTECTION"] = "off"  # the pages are on loopback
    extracting = Lock()

    def read(url: str) -> str:
        html = fetch_url(url, config=config)
        if html is None:
            raise RuntimeError(f"{url} was not fetched")
        with extracting:
            return extract(html, url, output_format="markdown", with_metadata=True, fast=fast) or ""

    return read


if __name__ == "__main__":
    serve_threads(__version__, reader(fast="fast" in sys.argv[1:]))
