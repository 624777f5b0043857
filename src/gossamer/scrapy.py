"""A downloader middleware for Scrapy: pages come through a Gossamer server, rendered if you like.

    DOWNLOADER_MIDDLEWARES = {"gossamer.scrapy.GossamerMiddleware": 950}
    GOSSAMER_SERVER = "https://gossamer.example.com"
    GOSSAMER_KEY = "sk_live_…"

    yield scrapy.Request(url, meta={"gossamer": {"render": True}})

It needs Scrapy 2.14 and nothing else: no part of the server is imported. A call to the server is a request of
Scrapy's own, in the slot of the page's host, so that delays and concurrency are those of the spider.
"""

import json
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotConfigured,
    NotSupported,
)
from scrapy.http import Request, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.responsetypes import responsetypes

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

SPARE_SECONDS: Final = 15.0  # for the server, beyond the time of the page
DEFAULT_SECONDS: Final = 30.0
_RENDERING: Final = {True: "always", False: "never"}
_SENT: Final = (
    "Accept",
    "Accept-Language",
    "Authorization",
    "Cookie",
    "DNT",
    "Referer",
    "X-API-Key",
    "X-Requested-With",
)
# The call itself is nothing for the spider, nor for the other middlewares.
_ASIDE: Final = dict.fromkeys(
    (
        "allow_offsite",
        "dont_cache",
        "dont_merge_cookies",
        "dont_obey_robotstxt",
        "dont_redirect",
        "dont_retry",
    ),
    True,
)


class GossamerRefusal(IgnoreRequest):  # type: ignore[misc]  # Scrapy is not installed with us
    """The server does not fetch this page, and asking again would not help."""


class GossamerMiddleware:
    """Serves requests with `meta={"gossamer": …}`; with the setting GOSSAMER_OPTIONS, all that are a GET.

    `meta["gossamer"]` has options of `POST /fetch` beside `render`, or is `True` for none, or `False` to let
    Scrapy fetch the page itself.
    """

    def __init__(self, crawler: "Crawler") -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._server = str(settings.get("GOSSAMER_SERVER") or "").rstrip("/")
        if not self._server:
            raise NotConfigured("GOSSAMER_SERVER is not set")
        self._key = settings.get("GOSSAMER_KEY")
        self._options: Mapping[str, Any] | None = settings.getdict("GOSSAMER_OPTIONS") or None
        self._has_cookies = settings.getbool("COOKIES_ENABLED", True)

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "GossamerMiddleware":
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        wanted = request.meta.get("gossamer", self._options)
        if wanted is None or wanted is False or request.meta.get("gossamer_call"):
            return None
        if request.method != "GET":
            if "gossamer" not in request.meta:
                return None
            raise NotSupported(f"Gossamer fetches pages with GET, not with {request.method}")
        given = wanted if isinstance(wanted, Mapping) else {}
        call = self._call(request, {**(self._options or {}), **given})
        engine: Any = self._crawler.engine
        return _response_to(request, await engine.download_async(call))

    def _call(self, request: Request, options: Mapping[str, Any]) -> Request:
        asked = {"formats": ["rawHtml"], "headers": _sent_headers(request), **options, "url": request.url}
        if isinstance(asked.get("render"), bool):
            asked["render"] = _RENDERING[asked["render"]]
        if self._has_cookies and not request.meta.get("dont_merge_cookies") and not asked.get("cache"):
            asked["returnCookies"] = True
        seconds = asked["timeout"] / 1000 if "timeout" in asked else DEFAULT_SECONDS
        slot = request.meta.get("download_slot") or urlsplit(request.url).hostname
        return Request(
            f"{self._server}/fetch",
            method="POST",
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                **({"Authorization": f"Bearer {self._key}"} if self._key else {}),
            },
            body=json.dumps(asked),
            callback=NO_CALLBACK,
            dont_filter=True,
            priority=request.priority,
            meta={
                **_ASIDE,
                "gossamer_call": True,
                "download_slot": slot,
                "download_timeout": seconds + SPARE_SECONDS,
            },
        )


def _sent_headers(request: Request) -> dict[str, str]:
    """Those that a page may get. Gossamer names itself in the User-Agent."""
    values = {name: request.headers.get(name) for name in _SENT}
    return {name: value.decode("latin-1") for name, value in values.items() if value}


def _response_to(request: Request, reply: Response) -> Response:
    """The page, as if Scrapy had fetched it. Raises what Scrapy raises for a page that cannot be had."""
    if reply.status != 200:
        return _refusal_of(request, reply)
    answer = json.loads(reply.body)
    media_type = answer["contentType"].partition(";")[0].strip() or "text/html"
    headers = {
        "Content-Type": [f"{media_type}; charset=utf-8"],
        "Set-Cookie": [_set_cookie(cookie) for cookie in answer.get("cookies", ())],
    }
    kind = responsetypes.from_content_type(f"{media_type}; charset=utf-8")
    return kind(
        url=answer["finalUrl"],
        status=answer["statusCode"],
        headers={name: values for name, values in headers.items() if values},
        body=answer.get("rawHtml", "").encode(),
        flags=[f"gossamer:{answer['outcome']}"],
        request=request,
        **({"encoding": "utf-8"} if hasattr(kind, "encoding") else {}),
    )


def _refusal_of(request: Request, reply: Response) -> Response:
    """A server that is busy or away is answered with its status, which Scrapy tries again."""
    try:
        problem = json.loads(reply.body)
        code, text = problem["code"], problem["detail"]
    except (ValueError, KeyError, TypeError):
        code, text = "", f"The Gossamer server answered with {reply.status}"
    reason = problem.get("details", {}).get("reason", "") if code else ""
    if code == "FETCH_TIMEOUT":
        raise DownloadTimeoutError(text)
    if code == "FETCH_FAILED" and reason == "dns_not_found":
        raise CannotResolveHostError(text)
    if code in ("FETCH_FAILED", "RENDER_FAILED"):
        raise DownloadFailedError(text)
    if code == "CONTENT_TOO_LARGE":
        raise DownloadCancelledError(text)
    if code == "CONTENT_UNREADABLE":
        raise NotSupported(text)
    if 400 <= reply.status < 500 and reply.status not in (408, 429):
        raise GossamerRefusal(text)
    return Response(request.url, reply.status, headers=_retry_after(reply), request=request)


def _retry_after(reply: Response) -> dict[str, bytes]:
    value = reply.headers.get("Retry-After")
    return {"Retry-After": value} if value else {}


def _set_cookie(cookie: Mapping[str, Any]) -> str:
    """As a server writes it."""
    jar: SimpleCookie = SimpleCookie()
    jar[cookie["name"]] = cookie["value"]
    morsel = jar[cookie["name"]]
    morsel["path"] = cookie.get("path", "/")
    morsel["secure"] = cookie.get("secure", False)
    if str(cookie.get("domain", "")).startswith("."):
        morsel["domain"] = cookie["domain"]
    return morsel.OutputString()
