"""A server as people start it, and a small site, for the clients of other products."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.doors.crawls import OPEN, PROSE, Web
from tests.doors.fetches import say
from tests.doors.processes import processes_in
from tests.doors.services import ADMIN_KEY, AS_ADMIN
from tests.servers.sqlite import NAME
from tests.site.server import Site


@dataclass(frozen=True)
class Served:
    """A server in a process of its own, with its workers."""

    origin: str
    web: Web
    product: str  # the address of a page about a product
    key: str = ADMIN_KEY

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.origin, headers=AS_ADMIN, verify=False, timeout=60, trust_env=False)


@pytest.fixture(scope="module")
def served(site: Site, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(sqlite_template, folder / NAME)
    origin = site.origins(1)[0]
    product = say(
        '<html lang="en"><head><title>Silk rope</title><meta property="og:title" content="Rope">'
        '<meta property="og:locale:alternate" content="de_DE">'
        '<script type="application/ld+json">{"@type": "Product", "name": "Silk rope", '
        '"offers": {"price": "1299.00"}}</script></head><body><nav><a href="/elsewhere">elsewhere</a></nav>'
        f'<h1>Silk rope</h1><img src="/rope.png"><p>{PROSE}</p></body></html>'
    )
    with processes_in(folder) as processes:
        process = processes("gossamer", "serve", **OPEN, dns_servers="127.0.0.1:9", limit_user="1000000/60")
        address = re.search(r"http://127\.0\.0\.1:\d+", process.line())
        if address is None:
            pytest.fail(process.process.communicate()[1])
        yield Served(address[0], Web.on(origin), origin + product)
