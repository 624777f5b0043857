"""The routes below `/tavily`: search, extract, crawl and map."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from time import perf_counter
from typing import Any, Final

from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.relay import Relay, RelayedApi, relaying_route
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dropin.shared.crawls import crawl_site
from gossamer.doors.http.dropin.shared.pages import RelayedPage, read_pages
from gossamer.doors.http.dropin.tavily.bodies import (
    MAX_URLS,
    TavilyCrawl,
    TavilyExtract,
    TavilyMap,
    TavilySearch,
)
from gossamer.doors.http.dropin.tavily.dialect import TAVILY
from gossamer.doors.http.dropin.tavily.patterns import excluded_of, patterns_of
from gossamer.problems import Problem, validation_error
from gossamer.web.content.anchors import images_of
from gossamer.web.crawl.scope import Pattern
from gossamer.web.url.url import Url

LONGEST: Final = 150.0  # seconds of a crawl
SPARE: Final = 0.1  # the part of a client's time that is left for the way back
READING_SECONDS: Final = 40.0  # for the pages that a search has found
MAX_DOMAINS: Final = 10  # that a search may be restricted to
MAX_SEARCHED: Final = 50
_RANGES: Final = {"d": "day", "w": "week", "m": "month", "y": "year"}
_DAYS: Final = {"day": 1, "week": 7, "month": 31}


class TavilyDoor(Struct, frozen=True):
    relay: Relay

    async def search(self, exchange: Exchange, body: TavilySearch) -> Response:
        started = perf_counter()
        api = self.relay.acting_for(exchange)
        results = await exchange.unless_gone(_search(api, body))
        shown: dict[str, Any] = {
            "query": body.query,
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "results": results,
        }
        return _answer(shown, started, exchange)

    async def extract(self, exchange: Exchange, body: TavilyExtract) -> Response:
        started = perf_counter()
        if not 1 <= len(body.wanted) <= MAX_URLS:
            raise validation_error(f"Give 1 to {MAX_URLS} URLs.", hint="Send the others in further requests.")
        api = self.relay.acting_for(exchange)
        pages = await exchange.unless_gone(_read(api, body))
        shown = {
            "results": [_extracted(page, body) for page in pages if page.is_ok],
            "failed_results": [
                {"url": page.url, "error": page.complaint} for page in pages if not page.is_ok
            ],
        }
        return _answer(shown, started, exchange)

    async def crawl(self, exchange: Exchange, body: TavilyCrawl) -> Response:
        started = perf_counter()
        api = self.relay.acting_for(exchange)
        crawling = crawl_site(api, _spec(body), _seconds(body.timeout), body.format)
        pages = [page for page in await exchange.unless_gone(crawling) if page["outcome"] == "ok"]
        results = [
            {"url": page["finalUrl"], "raw_content": page["content"], **_images(page["content"], body)}
            for page in pages
            if "content" in page
        ]
        return _answer({"base_url": body.url, "results": results}, started, exchange)

    async def map(self, exchange: Exchange, body: TavilyMap) -> Response:
        started = perf_counter()
        include = [Pattern.of(text) for text in patterns_of(body.select_paths, body.select_domains)]
        exclude = [Pattern.of(text) for text in excluded_of(body.exclude_paths, body.exclude_domains)]
        asked = {
            "url": body.url,
            "limit": 50_000 if include or exclude else body.limit,
            "includeSubdomains": True,
            "timeout": round(1000 * min(60.0, max(1.0, _seconds(body.timeout)))),
        }
        found = await exchange.unless_gone(self.relay.acting_for(exchange).ask("POST", "/map", asked))
        urls = [link["url"] for link in found["links"]]
        chosen = [url for url in urls if _is_chosen(url, include, exclude)]
        return _answer({"base_url": body.url, "results": chosen[: body.limit]}, started, exchange)

    def routes(self) -> list[Route]:
        def route(name: str, handler: Any, summary: str, deadline: float) -> Route:
            return relaying_route(TAVILY, "POST", f"/tavily/{name}", handler, summary, deadline=deadline)

        return [
            route("search", self.search, "Search for pages", 120.0),
            route("extract", self.extract, "Read pages", 90.0),
            route("crawl", self.crawl, "Crawl a site", LONGEST + 30),
            route("map", self.map, "Find the pages of a site", LONGEST + 30),
        ]


def _answer(shown: dict[str, Any], started: float, exchange: Exchange) -> Response:
    seconds = round(perf_counter() - started, 2)
    exchange.repeat_relayed("response_time")
    return answer({**shown, "response_time": seconds, "request_id": exchange.request_id})


def _seconds(asked: float) -> float:
    """So that the answer comes before the client gives up."""
    return min(asked, LONGEST) * (1 - SPARE)


# Search.


async def _search(api: RelayedApi, body: TavilySearch) -> list[dict[str, Any]]:
    found = await _find(api, body)
    results = [
        {
            "url": result["url"],
            "title": result["title"],
            "content": result["snippet"].replace("**", ""),
            "score": result["score"],
            "raw_content": None,
            **({"published_date": result["publishedAt"]} if "publishedAt" in result else {}),
        }
        for result in found
    ]
    if body.include_raw_content and results:
        text = body.include_raw_content == "text"
        options = {"formats": ["text" if text else "markdown"], "render": "auto", "cache": True}
        urls = [result["url"] for result in results]
        async with aclosing(read_pages(api, urls, options, READING_SECONDS)) as pages:
            for result in results:
                page = await anext(pages)
                result["raw_content"] = page.answer["text" if text else "content"] if page.is_ok else None
    return results


async def _find(api: RelayedApi, body: TavilySearch) -> list[dict[str, Any]]:
    """Our API searches one site at a time, so each domain has its own search."""
    if not body.max_results:
        return []
    if len(body.include_domains) > MAX_DOMAINS:
        raise validation_error(f"`include_domains` may have {MAX_DOMAINS} domains here.")
    asked: dict[str, Any] = {
        "query": body.query,
        "limit": MAX_SEARCHED if body.exclude_domains else body.max_results,
        "recency": _recency(body),
        "language": body.language,
    }
    sites = body.include_domains or (None,)
    answers = await asyncio.gather(
        *(api.ask("POST", "/search", {**asked, "site": _host(site) if site else None}) for site in sites)
    )
    merged = {result["url"]: result for found in answers for result in found["results"]}
    kept = [result for result in merged.values() if not _is_of(result["url"], body.exclude_domains)]
    return sorted(kept, key=lambda result: -result["score"])[: body.max_results]


def _recency(body: TavilySearch) -> str | None:
    if body.time_range is not None:
        return _RANGES[body.time_range[0]]
    if body.days is None:
        return None
    days = body.days
    return next((name for name, most in _DAYS.items() if days <= most), "year")


def _host(domain: str) -> str:
    """Of a domain that may be written as a URL or with an asterisk."""
    return domain.partition("://")[2].partition("/")[0] if "://" in domain else domain.removeprefix("*.")


def _is_of(url: str, domains: Sequence[str]) -> bool:
    host = Url.parse(url).host
    names = [_host(domain).partition("/")[0].lower() for domain in domains]
    return any(host == name or host.endswith(f".{name}") for name in names)


# Extract.


async def _read(api: RelayedApi, body: TavilyExtract) -> list[RelayedPage]:
    options = {
        "formats": [body.format, "metadata"],
        "render": "auto" if body.extract_depth == "advanced" else "never",
        "timeout": round(1000 * min(60.0, max(1.0, _seconds(body.timeout)))),
        "cache": True,
    }
    async with aclosing(read_pages(api, body.wanted, options, _seconds(body.timeout))) as pages:
        return [page async for page in pages]


def _extracted(page: RelayedPage, body: TavilyExtract) -> dict[str, Any]:
    content = page.answer["text" if body.format == "text" else "content"]
    shown = {"url": page.url, "title": page.answer["title"], "raw_content": content, **_images(content, body)}
    if body.include_favicon:
        shown["favicon"] = page.answer["metadata"].get("favicon")
    return shown


def _images(content: str, body: TavilyExtract | TavilyCrawl) -> dict[str, Any]:
    if not body.include_images:
        return {"images": []}
    return {"images": list(dict.fromkeys(url for _, url in images_of(content)))}


# Crawl and map.


def _spec(body: TavilyCrawl) -> dict[str, Any]:
    return {
        "seeds": [body.url],
        "name": "tavily",
        "scope": "any" if body.allow_external else "domain",
        "include": patterns_of(body.select_paths, body.select_domains),
        "exclude": excluded_of(body.exclude_paths, body.exclude_domains),
        "maxPages": body.limit,
        "maxDepth": body.max_depth,
        "maxUrlsPerPage": min(body.max_breadth, 1_000),
        "render": "auto" if body.extract_depth == "advanced" else "never",
        "sitemaps": False,
    }


def _is_chosen(url: str, include: Sequence[Pattern], exclude: Sequence[Pattern]) -> bool:
    try:
        address = Url.parse(url)
    except Problem:
        return False
    if any(pattern.matches(address, url) for pattern in exclude):
        return False
    return not include or any(pattern.matches(address, url) for pattern in include)
