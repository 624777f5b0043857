"""Finds the pages of a site: those that its sitemaps list, and those that robots have asked for."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from gossamer.flows.crawl.politeness.robots import RobotsFiles
from gossamer.flows.render.warm import Warmer, WarmResult
from gossamer.problems import Problem, Unavailable
from gossamer.state.sites.sites import RegisteredSite
from gossamer.web.sites.site_settings import MAX_SITEMAPS
from gossamer.web.url.url import Url

USUAL_SITEMAP: Final = "/sitemap.xml"


class SiteFinder(Struct, frozen=True):
    warmer: Warmer
    robots: RobotsFiles
    clock: Callable[[], float] = time.time

    async def find_sitemaps(self, site: RegisteredSite) -> tuple[str, ...]:
        """Those that the owner names, or that its robots.txt does, or the usual one."""
        warm_up = site.settings.warm_up
        if warm_up is not None and warm_up.sitemaps:
            return warm_up.sitemaps
        home = Url.parse(f"{site.origin}/")
        try:
            named = (await self.robots.peek(home, None, round(self.clock() * 1000))).robots.sitemaps
        except Unavailable:
            raise
        except Problem:  # the host cannot be reached: the sitemap will tell so
            named = ()
        return tuple(dict.fromkeys(named[:MAX_SITEMAPS])) or (home.join(USUAL_SITEMAP).href,)

    async def list_pages(self, sitemaps: Sequence[str], most: int, warmed: WarmResult) -> list[str]:
        """What cannot be read is noted in `warmed`, unless nothing can be."""
        urls: list[str] = []
        trouble: Problem | None = None
        for sitemap in sitemaps:
            try:
                urls += await self.warmer.list_sitemap(sitemap, most - len(urls), warmed)
            except Unavailable:
                raise
            except Problem as problem:
                warmed.refuse(sitemap, problem)
                trouble = trouble or problem
            if len(urls) >= most:
                break
        if trouble is not None and not urls:
            raise trouble
        return urls
