"""PageForRobots: what a robot gets for a page, whatever happens here.

The middleware passes on every answer as it is: status, headers and body, our own errors too. So a page that
cannot be rendered in time is answered with the HTML of its own server, and a failure of ours with a 503,
which robots do not take for the page.
"""

import asyncio
import gzip
import re
from collections.abc import Mapping
from html import escape
from typing import Any, Final

from msgspec import Struct, field
from starlette.responses import Response

from gossamer import problems
from gossamer.client.transport import Reply
from gossamer.doors.http.api.render.served_page import takes_gzip
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.relay import RelayedApi
from gossamer.problems import Problem
from gossamer.web.pages.page_request import MIN_RENDER_TIMEOUT
from gossamer.web.render.ascii_html import to_ascii
from gossamer.web.render.prerender import HEADERS

ORIGIN_SECONDS: Final = 3.0  # for the HTML of the page's own server
A_DAY: Final = 86_400
FRESH: Final[Mapping[str, int]] = {
    "maxAge": A_DAY,
    "staleWhileRevalidate": 7 * A_DAY,
    "staleIfError": 7 * A_DAY,
    "siteFreshness": True,  # what the owner of a registered site wants comes first
}
RETRY_SECONDS: Final = 30
MAX_INLINE_CHARS: Final = 200_000  # a larger page is encoded in a thread
_HTML: Final = "text/html; charset=utf-8"
_MARK: Final = {"x-prerender": "1"}  # so that the site's middleware does not ask us again
_WITHOUT_BODY: Final = (204, 205, 304)
# Robots take other refusals for the page's own answer, and forget the page.
_OWN_REFUSALS: Final = (400, 404, 405, 422)
_UNAUTHORIZED_HINT: Final = (
    "Set the token of the middleware (X-Prerender-Token) to an API key of this server."
)
ROBOT: Final = "x-gossamer-robot"  # names who asks, for the report of the site
_HIDDEN_FRAGMENT: Final = re.compile(r"#!.")


class PageForRobots(Struct, frozen=True):
    html: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = _HTML
    is_rendered: bool = False

    async def answer(self, exchange: Exchange) -> Response:
        headers = dict(self.headers)
        zipped = takes_gzip(exchange.header(b"accept-encoding"))
        if zipped:  # then the middleware notices that an answer was cut
            headers["content-encoding"] = "gzip"
        if len(self.html) <= MAX_INLINE_CHARS:
            body = self._encode(zipped=zipped)
        else:
            body = await asyncio.to_thread(self._encode, zipped=zipped)
        if self.is_rendered:
            exchange.repeat_relayed()
        return Response(body, self.status, {**headers, "content-type": self.content_type})

    def _encode(self, *, zipped: bool) -> bytes:
        """In ASCII: the middleware joins pieces of the body as text, and breaks other characters there."""
        body = to_ascii(self.html).encode("ascii") if self.content_type == _HTML else self.html.encode()
        return gzip.compress(body, 5, mtime=0) if zipped else body


async def page_for_robots(
    api: RelayedApi, url: str, seconds: float, robot: str = "", **options: Any
) -> PageForRobots:
    """The page at `url`: cached, rendered within `seconds`, or else as its server sends it. Raises `Problem`
    if there is none of these. `robot` is the User-Agent of who asks."""
    if _HIDDEN_FRAGMENT.search(url):
        # No cache: what is cached is visited without its fragment.
        timeout = max(MIN_RENDER_TIMEOUT, int(seconds * 1000))
        return await page_of_origin(api, url, render="always", timeout=timeout)
    try:
        asked = {"url": url, "wait": seconds, **FRESH, **options}
        reply = await api.send("POST", "/api/render", asked, {ROBOT: robot} if robot else None)
    except Problem as problem:
        if problem.kind.status in (400, 401, 402, 403):
            raise
        return await page_of_origin(api, url, declared=_declared_status(problem))
    if reply.status == 200:
        return _rendered(reply)
    return await page_of_origin(api, url)  # it is still being rendered, for the next robot


def _rendered(reply: Reply) -> PageForRobots:
    headers = {name: reply.headers[name] for name in HEADERS if name in reply.headers}
    status = _with_body(int(reply.headers["x-page-status"]), leads_on="location" in headers)
    return PageForRobots(reply.body.decode("utf-8", "replace"), status, headers, is_rendered=True)


async def page_of_origin(api: RelayedApi, url: str, *, declared: int = 0, **options: Any) -> PageForRobots:
    """The page without what a render does to it; `declared` is the status that the page itself has named."""
    asked = {
        "url": url,
        "formats": ["rawHtml"],
        "mainContent": False,
        "timeout": int(ORIGIN_SECONDS * 1000),
        "headers": _MARK,
        **options,
    }
    fetched = await api.ask("POST", "/fetch", asked)
    html = fetched.get("rawHtml")
    if html is None:
        raise Problem(problems.SERVICE_UNAVAILABLE, "The address leads to something that is no page.")
    status = _with_body(declared or fetched["statusCode"], leads_on=False)
    is_html = "html" in fetched["contentType"] or not fetched["contentType"]
    content_type = _HTML if is_html else f"{fetched['contentType'].partition(';')[0]}; charset=utf-8"
    return PageForRobots(html, status, content_type=content_type)


def _with_body(status: int, *, leads_on: bool) -> int:
    """The status for an answer with a page; a redirect must lead somewhere."""
    return 200 if status in _WITHOUT_BODY or (300 <= status < 400 and not leads_on) else status


def _declared_status(problem: Problem) -> int:
    status = problem.details.get("status")
    return status if isinstance(status, int) and 400 <= status < 600 else 0


def refuse_robot(problem: Problem, exchange: Exchange) -> Response:
    """A short page in place of a problem document."""
    status = problem.kind.status
    headers = {}
    if status not in _OWN_REFUSALS:
        status = 503
        headers["retry-after"] = str(round(problem.retry_after) or RETRY_SECONDS)
    hint = _UNAUTHORIZED_HINT if problem.kind is problems.UNAUTHORIZED else problem.hint or ""
    said = "".join(f"<p>{escape(text)}</p>" for text in (problem.detail, hint, exchange.request_id) if text)
    html = f"<!doctype html><title>{escape(problem.kind.title)}</title>{said}"
    body = to_ascii(html).encode("ascii")
    if takes_gzip(exchange.header(b"accept-encoding")):
        headers["content-encoding"] = "gzip"
        body = gzip.compress(body, mtime=0)
    return Response(body, status, {**headers, "content-type": _HTML})
