"""Crawl: where one begins."""

from functools import lru_cache

from gossamer.reach.dial import Dialer
from gossamer.state.crawls import Spec
from gossamer.state.new_urls import HIGH, NewUrl
from gossamer.web.priority import priority_of
from gossamer.web.url import TRACKING, Tracking, Url, crawl_form, digest


def new_url(url: Url, spec: Spec, *, depth: int = 0, priority: int | None = None) -> NewUrl:
    """As it is kept: known by its crawl form, asked for as it was written."""
    level = priority_of(url, depth) if priority is None else priority
    tracking = _tracking(spec.ignore_parameters)
    form = crawl_form(url, tracking, keep_slash=not spec.ignore_trailing_slash)
    return NewUrl(url.href.partition("#")[0], digest(form), url.site, depth, level)


def seeds_of(spec: Spec, dialer: Dialer | None = None) -> list[NewUrl]:
    """Each once. A Problem says which of them cannot be visited, as far as that is known before."""
    seeds: dict[str, NewUrl] = {}
    for text in spec.seeds:
        url = Url.parse(text)
        if dialer is not None:
            dialer.admit(url.host, url.port)
        seed = new_url(url, spec, priority=HIGH)
        seeds.setdefault(seed.url_hash, seed)
    return list(seeds.values())


@lru_cache(maxsize=64)
def _tracking(more: tuple[str, ...]) -> Tracking:
    also = Tracking.of(more)
    return Tracking(TRACKING.names | also.names, TRACKING.prefixes + also.prefixes)
