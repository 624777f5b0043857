"""StoredPages: answers requests out of a crawl, so that it can be audited without the network.

What the crawl has not stored is not known: it is neither there nor missing.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.audit.probe import NotKnown, SiteFiles, SiteSurvey
from gossamer.flows.crawl.content import load_page
from gossamer.flows.crawl.seeds import new_url
from gossamer.problems import Problem
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl import crawled_pages
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.db.database import Database
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.pages.page import Hop, Page
from gossamer.web.url.url import Url

MAX_REDIRECTS: Final = 5


class StoredPages(Struct, frozen=True):
    database: Database
    blobs: Blobs
    crawl: Crawl

    async def fetch(self, spec: FetchSpec) -> Page:
        """Follows redirects that are stored. Raises `NotKnown`."""
        url, hops = spec.url, list[Hop]()
        while len(hops) <= MAX_REDIRECTS:
            row = await self._find(url)
            if row is None or row.status_code is None:
                break
            if row.blob is not None or row.final_url == row.url:
                page = await self._load(row, needs_body=not spec.head_only)
                return replace(page, url=spec.url.href, redirects=tuple(hops))
            hops.append(Hop(row.url, row.status_code))
            url = Url.parse(row.final_url)
        raise NotKnown(f"The crawl has not stored {spec.url.href[:200]}.")

    async def _find(self, url: Url) -> StoredPage | None:
        name = new_url(url, self.crawl.spec, depth=0).url_hash
        async with self.database.read() as connection:
            return await crawled_pages.get(connection, self.crawl.id, name)

    async def _load(self, row: StoredPage, *, needs_body: bool) -> Page:
        if row.blob is not None:
            page = await load_page(self.blobs, row.blob, row.blob_offset or 0, row.blob_size or 0)
            if page is not None:
                return page
        if needs_body:
            raise NotKnown("The content of the page is not kept any more.")
        return Page(
            url=row.url,
            final_url=row.final_url,
            status=row.status_code or 0,
            headers=(),
            body=b"",
            media_type=row.content_type.partition(";")[0].strip().lower(),
            charset="utf-8",
        )


def known_files(files: SiteFiles) -> SiteFiles:
    """Without the files that the crawl has not stored: nobody knows whether they exist."""
    robots, llms, sitemap = files["robots"], files["llms"], files["sitemap"]
    return {
        "robots": robots if robots is not None and robots.status is not None else None,
        "llms": llms if llms is not None and llms.status is not None else None,
        "sitemap": sitemap if sitemap is not None and sitemap.found and not sitemap.problem else None,
        "http_redirects_to_https": files["http_redirects_to_https"],
    }


def known_survey(survey: SiteSurvey) -> SiteSurvey:
    return replace(survey, files=known_files(survey.files))


def not_over() -> Problem:
    return Problem(
        problems.UNPROCESSABLE_ENTITY,
        "The crawl is not over yet.",
        hint="Wait until it is done, or stop it; then audit what it has stored.",
        details={"reason": "crawl_not_over"},
    )
