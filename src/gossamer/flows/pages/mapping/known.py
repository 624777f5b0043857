"""KnownPages: the pages of a site that a tenant has read or crawled before."""

from typing import Final

from msgspec import Struct

from gossamer.state.crawl.crawled_pages import USUAL_OUTCOME, PageFilter
from gossamer.state.crawl.reading import tenant_pages
from gossamer.state.db.database import Database
from gossamer.state.search import site_pages
from gossamer.state.search.site_pages import IndexedPage
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.url.domain import domain_of
from gossamer.web.url.url import DEFAULT_PORTS, Url

MAX_PAGES: Final = 5_000  # of the index, and of the crawls
SECONDS: Final = 3.0


class KnownPages(Struct, frozen=True):
    database: Database

    async def find(self, tenant: str, url: Url, *, subdomains: bool) -> list[IndexedPage]:
        """Pages in the index of the tenant and of callers without an account, then those of the tenant's
        crawls. Raises `Unavailable`."""
        hosts = _names(url)
        origins = [f"https://{host}{'' if _is_usual(url) else f':{url.port}'}" for host in hosts]
        domain = domain_of(url.host) if subdomains else ""
        async with self.database.read(seconds=SECONDS) as connection:
            found = await site_pages.listing(connection, (tenant, PUBLIC), origins, domain, limit=MAX_PAGES)
            if tenant:
                ports = DEFAULT_PORTS.values() if _is_usual(url) else [url.port]
                sites = tuple(f"{host}:{port}" for host in hosts for port in ports)
                which = PageFilter(tenant=tenant, hosts=sites, outcome=USUAL_OUTCOME)
                stored = await tenant_pages.listing(connection, which, limit=MAX_PAGES)
                found += [IndexedPage(page.final_url, page.title, page.description) for page in stored]
        return found


def _names(url: Url) -> tuple[str, str]:
    """A host with `www.` and the same host without it are one site."""
    bare = url.host.removeprefix("www.")
    return bare, f"www.{bare}"


def _is_usual(url: Url) -> bool:
    return url.port == DEFAULT_PORTS[url.scheme]
