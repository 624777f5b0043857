"""Fetches a URL in a process of its own, and says as JSON what came of it, how long it took and what it cost.

    python -m tests.site.visitor AUTHORITY GOOD_URL URL [TIMEOUT]

The good URL is fetched first, so that the cost is that of the other alone.
"""

import json
import resource
import sys
import time
from ipaddress import ip_network
from pathlib import Path

import uvloop

from gossamer.problems import Problem
from gossamer.reach.http.client import HttpBounds
from gossamer.reach.http.failures import reason_of
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.dial import Dialer, client_context
from gossamer.reach.net.names import Names
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.url.url import Url


def peak() -> int:
    """The most memory this process has had, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # where `ru_maxrss` begins with that of the process that started us
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def visit(fetcher: Fetcher, url: str, timeout: float) -> str:
    try:
        page = await fetcher.fetch(FetchSpec(url=Url.parse(url), timeout=timeout, attempts=1))
    except Problem as problem:
        return f"{problem.kind.code} {reason_of(problem)}"
    return f"{page.status} {len(page.body)}"


async def main(authority: str, good: str, url: str, timeout: str = "10") -> None:
    names = Names()
    context = client_context(authorities=authority)
    dialer = Dialer(names, allow=(ip_network("127.0.0.0/8"),), ports="*", context=context)
    fetcher = Fetcher(dialer, "Gossamer/0 (tests)", bounds=HttpBounds(first_byte=1.0, slow_after=1.0))
    assert (await visit(fetcher, good, 10)).startswith("200")
    before, started = peak(), time.monotonic()
    outcome = await visit(fetcher, url, float(timeout))
    spent = {"outcome": outcome, "seconds": time.monotonic() - started, "bytes": peak() - before}
    await fetcher.close()
    await names.close()
    print(json.dumps(spent))


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
