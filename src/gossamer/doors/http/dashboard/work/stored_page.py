"""One stored page: what is known about it, its content, its links, and the same URL elsewhere."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.crawl.crawl_page_links import LinksInQuery, PageLinksEndpoints, ShownLinksIn
from gossamer.doors.http.api.crawl.crawl_pages import ContentQuery, CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.crawl_refresh import CrawlRefreshEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.work.crawl_list import CRAWLS
from gossamer.doors.http.dashboard.work.words import OUTCOMES, explain
from gossamer.doors.http.docs.page import HTML
from gossamer.flows.crawl.reading.results import Shape
from gossamer.problems import Problem
from gossamer.web.html.links import Link
from gossamer.web.pages.page import is_text

View = Literal["reading", "markdown", "text", "raw", "links"]

ONE: Final = f"{CRAWLS}/{{id}}/pages/{{page}}"
VIEWS: Final[dict[View, str]] = {
    "reading": "As it reads",
    "markdown": "Markdown",
    "text": "Text",
    "raw": "As it was fetched",
    "links": "Links",
}
MAX_SHOWN_CHARS: Final = 400_000  # of a text in a page; the whole is a link away
MAX_LINKS: Final = 1_000
MAX_HISTORY: Final = 20
_STYLE: Final = (
    ":root{color-scheme:light dark}body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:1rem auto;"
    "padding:0 1rem;overflow-wrap:anywhere}table{border-collapse:collapse}pre{overflow:auto}"
    "td,th{border:1px solid;padding:.3rem}"
)
_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEAD: Final = (
    f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Content</title><style>{_STYLE}</style>'
)
# Content of other sites: it runs nothing, loads nothing and leads nowhere. Only our own pages may frame it.
_CONFINED: Final = {
    "Content-Type": HTML,
    "Content-Security-Policy": f"sandbox; default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
}


class PageShown(msgspec.Struct):
    """Which side of the page is shown."""

    view: View = "reading"
    links_in: Literal["", "yes"] = ""  # whether pages that link to it are looked for
    cursor: str = ""  # where that goes on


class StoredPagePages(Struct, frozen=True):
    dashboard: Dashboard
    pages: CrawlPagesEndpoints
    page_links: PageLinksEndpoints
    refreshing: CrawlRefreshEndpoints

    async def show(self, exchange: Exchange, id: str, page: str, query: PageShown) -> Response:
        shown = await self.pages.get_page(exchange, id, page)
        content, links, problem = "", Links(), None
        is_binary = query.view == "raw" and not is_text(shown.content_type or "")
        if shown.content_url is not None and not is_binary:
            try:
                content, links = await self._content(exchange, id, page, query.view)
            except Problem as refused:
                problem = refused
        return self.dashboard.render(
            exchange,
            "work/stored_page.html",
            here="crawls",
            page=shown,
            view=query.view,
            views=VIEWS,
            content=content[:MAX_SHOWN_CHARS],
            is_binary=is_binary,
            is_cut=len(content) > MAX_SHOWN_CHARS,
            links=links,
            problem=problem,
            outcome=OUTCOMES.get(shown.outcome, shown.outcome),
            error=explain(shown.error),
            trail=await self.page_links.get_trail(exchange, id, page),
            links_in=await self._links_in(exchange, id, page, query),
            cursor=query.cursor,
            versions=(await self.refreshing.list_versions(exchange, id, page)).versions,
            history=await self.pages.find_history(exchange, id, page, MAX_HISTORY),
        )

    async def read(self, exchange: Exchange, id: str, page: str) -> Response:
        """The main content as HTML, to be shown in a frame."""
        return Response(_HEAD + await self._text(exchange, id, page, "html"), headers=_CONFINED)

    async def _links_in(
        self, exchange: Exchange, crawl_id: str, page_id: str, query: PageShown
    ) -> ShownLinksIn | None:
        """None: nobody asked for them."""
        if not query.links_in:
            return None
        asked = LinksInQuery(cursor=query.cursor or None)
        return await self.page_links.get_links_in(exchange, crawl_id, page_id, asked)

    async def _content(
        self, exchange: Exchange, crawl_id: str, page_id: str, view: View
    ) -> tuple[str, "Links"]:
        if view == "links":
            return "", Links.of(await self.pages.find_links(exchange, crawl_id, page_id))
        shape: Shape = "html" if view == "reading" else view
        return await self._text(exchange, crawl_id, page_id, shape), Links()

    async def _text(self, exchange: Exchange, crawl_id: str, page_id: str, shape: Shape) -> str:
        found = await self.pages.get_content(exchange, crawl_id, page_id, ContentQuery(format=shape))
        return bytes(found.body).decode(_charset(found), "replace")

    def routes(self) -> list[Route]:
        page = self.dashboard.page
        return [
            page(ONE, self.show, "A stored page"),
            page(f"{ONE}/reading", self.read, "The content of a stored page"),
        ]


class Links(Struct, frozen=True):
    """What a page links to, each address once."""

    found: Sequence[Link] = ()
    left_out: int = 0

    @classmethod
    def of(cls, links: Sequence[Link]) -> "Links":
        once = list({link.url: link for link in reversed(links)}.values())[::-1]
        return cls(once[:MAX_LINKS], max(0, len(once) - MAX_LINKS))


def _charset(answer: Response) -> str:
    """The encoding that the answer names, which may be the target's, if it is one that can be read."""
    named = answer.headers.get("content-type", "").partition("charset=")[2].strip(' "') or "utf-8"
    try:
        "".encode(named)
    except LookupError:
        return "utf-8"
    return str(named)
