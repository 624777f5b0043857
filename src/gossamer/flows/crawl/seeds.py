"""Crawl: where one begins."""

from gossamer.reach.dial import Dialer
from gossamer.state.crawls import Spec
from gossamer.state.new_urls import HIGH, NewUrl
from gossamer.web.priority import priority_of
from gossamer.web.url import Url, crawl_form, digest


def new_url(url: Url, *, depth: int = 0, priority: int | None = None) -> NewUrl:
    """As it is kept: known by its crawl form, asked for as it was written."""
    level = priority_of(url, depth) if priority is None else priority
    return NewUrl(url.href.partition("#")[0], digest(crawl_form(url)), url.site, depth, level)


def seeds_of(spec: Spec, dialer: Dialer | None = None) -> list[NewUrl]:
    """Each once. A Problem says which of them cannot be visited, as far as that is known before."""
    seeds: dict[str, NewUrl] = {}
    for text in spec.seeds:
        url = Url.parse(text)
        if dialer is not None:
            dialer.admit(url.host, url.port)
        seed = new_url(url, priority=HIGH)
        seeds.setdefault(seed.url_hash, seed)
    return list(seeds.values())
