"""Ways: how a crawl came to know a URL, and what the URL is to it then.

A sitemap is a URL of its own, beside the page that may be at the same address: that one is fetched when it
is a seed, or linked to, and not because somebody looked there for a sitemap.
"""

import sys
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from gossamer.flows.crawl.plan import Plan
from gossamer.flows.crawl.seeds import new_url
from gossamer.state.frontier import NewUrl, Task
from gossamer.web.url import Url, digest

ENDLESS: Final = sys.maxsize


@dataclass(frozen=True, slots=True)
class Way:
    """A link, a redirect or an entry of a sitemap."""

    depth: int
    hops: int = 0  # redirects in a row, or sitemaps in sitemaps
    most: int = ENDLESS  # that are taken of those who came this way

    mark: ClassVar[int] = 0  # sets apart what is known of pages and of sitemaps

    def admits(self, url: Url, plan: Plan) -> str:
        """Why it is not of the crawl; nothing if it is."""
        return plan.scope.admits(url, self.depth)

    def new(self, url: Url, plan: Plan) -> NewUrl:
        new = new_url(url, plan.spec, depth=self.depth)
        return replace(new, hops=self.hops) if self.hops else new


@dataclass(frozen=True, slots=True)
class Respelled(Way):
    """A redirect to what the crawl takes for the same page, as to `/a` from `/a?utm_source=x`. What is there
    would never be fetched if it were not a URL of its own."""

    mark: ClassVar[int] = 0x2B6E1A7F3

    def new(self, url: Url, plan: Plan) -> NewUrl:
        new = Way.new(self, url, plan)
        return replace(new, url_hash=respelled(new.url_hash, self.hops))


@dataclass(frozen=True, slots=True)
class ToSitemap(Way):
    host: str | None = None  # whose sitemaps belong to the crawl, whatever its scope; None: everybody's
    priority: int | None = None

    mark: ClassVar[int] = 0x51735E3A9

    def admits(self, url: Url, plan: Plan) -> str:
        return "" if self.host in (None, url.site) else plan.scope.admits(url, self.depth)

    def new(self, url: Url, plan: Plan) -> NewUrl:
        new = new_url(url, plan.spec, depth=self.depth, priority=self.priority)
        own = digest(f"sitemap {new.url_hash}")
        return replace(new, url_hash=own, hops=self.hops, as_sitemap=True)


def way_on(task: Task, plan: Plan, target: str) -> Way:
    """From a redirect; where it leads to is as deep as the redirect itself."""
    depth, hops = task.depth, task.hops + 1
    if task.as_sitemap:
        return ToSitemap(depth, hops, host=task.host, priority=task.priority)
    same = new_url(Url.parse(target), plan.spec).url_hash
    if task.url_hash in (same, respelled(same, task.hops)) and target != task.url:
        return Respelled(depth, hops)
    return Way(depth, hops)


def respelled(url_hash: str, hops: int) -> str:
    return digest(f"{url_hash} after {hops}")
