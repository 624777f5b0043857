"""The routes of the reader: a page behind `/r/`, a search behind `/s/`."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.negotiation import choose_media_type
from gossamer.doors.http.core.relay import Relay, relaying_route
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import EVENTS, Streaming
from gossamer.doors.http.dropin.jina.dialect import JINA, describe
from gossamer.doors.http.dropin.jina.options import PICTURES, ReaderOptions, read_options
from gossamer.doors.http.dropin.jina.reading import PAGES, read, results_to_text, search, to_text
from gossamer.doors.http.dropin.jina.target import target_of
from gossamer.problems import Problem, validation_error

TEXT: Final = "text/plain"
JSON: Final = "application/json"
DEADLINE: Final = 150.0  # seconds: a page that is read plainly, and then with a browser
_DATA_URL: Final = "data:image/png;base64,"
_BARE: Final = ("html", "text")  # alone, they are answered without anything around them


class JinaDoor(Struct, frozen=True):
    relay: Relay

    async def read_page(self, exchange: Exchange, url: str = "") -> Response:
        options = await read_options(exchange)
        query = exchange.scope["query_string"].decode("latin-1")
        if url:
            target = target_of(_rest_of_path(exchange), query)
        else:
            given = options.url or dict(parse_qsl(query)).get("url", "")
            target = target_of(given, "") if given else ""
        _check(options, target)
        liked = _liked(exchange)
        if liked == TEXT and len(options.forms) > 1:
            raise validation_error(
                "Several forms of a page cannot be one text.", hint="Send Accept: application/json."
            )
        reading = partial(read, self.relay.acting_for(exchange), target, options)
        if liked == EVENTS:
            return Streaming(_events(reading), media_type=EVENTS)
        await exchange.body()
        shown = _show(await exchange.unless_gone(reading()), options, liked)
        exchange.repeat_relayed()
        return shown

    async def search_pages(self, exchange: Exchange, words: str = "") -> Response:
        options = await read_options(exchange)
        given = dict(parse_qsl(exchange.scope["query_string"].decode("latin-1")))
        wanted = unquote(_rest_of_path(exchange)) if words else given.get("q") or options.query
        if not wanted.strip() or wanted == "search":
            wanted = given.get("q", "")
        if not wanted.strip():
            raise validation_error("There is no query.", hint="Ask GET /s/{query}, or GET /s/?q={query}.")
        count = given.get("count") or given.get("num") or ""
        options = replace(
            options,
            count=int(count) if count.isdecimal() and len(count) < 5 else options.count,
            language=given.get("hl") or options.language,
            site=(given["site"],) if "site" in given else options.site,
        )
        if options.respond_with != "no-content":
            _ = options.forms
        await exchange.body()
        results = await exchange.unless_gone(search(self.relay.acting_for(exchange), wanted, options))
        used = sum(result.get("usage", {}).get("tokens", 0) for result in results)
        if _liked(exchange) == TEXT:
            return _text(results_to_text(results), used)
        return answer(_envelope(results, used))

    def routes(self) -> list[Route]:
        def route(method: str, path: str, handler: Any, summary: str) -> Route:
            return relaying_route(JINA, method, path, handler, summary, deadline=DEADLINE)

        pages = "Read a page as text"
        searches = "Search, and read what is found"
        return [
            route(method, path, handler, summary)
            for method in ("GET", "POST")
            for path, handler, summary in (
                ("/r", self.read_page, pages),
                ("/r/", self.read_page, pages),
                ("/r/{url*}", self.read_page, pages),
                ("/s", self.search_pages, searches),
                ("/s/", self.search_pages, searches),
                ("/s/{words*}", self.search_pages, searches),
            )
        ]


def _rest_of_path(exchange: Exchange) -> str:
    """As it was sent, without the mount."""
    raw = exchange.scope.get("raw_path")
    path: str = raw.decode("latin-1").partition("?")[0] if raw else exchange.path
    return path.removeprefix("/").partition("/")[2]


def _check(options: ReaderOptions, target: str) -> None:
    if options.html or options.pdf or options.file:
        raise validation_error(
            "`html`, `pdf` and `file` are not supported.", hint="Give the `url` of the page instead."
        )
    if not target:
        raise validation_error("There is no URL.", hint="Ask GET /r/https://example.com/.")
    _ = options.forms


def _liked(exchange: Exchange) -> str:
    return choose_media_type(exchange.header(b"accept"), [TEXT, EVENTS, JSON])


def _show(page: dict[str, Any], options: ReaderOptions, liked: str) -> Response:
    used = page["usage"]["tokens"]
    if liked == JSON:
        return answer(_envelope(page, used))
    (form,) = options.forms
    if form in PICTURES:
        picture = base64.b64decode(page[PAGES[form]].removeprefix(_DATA_URL))
        return Response(picture, media_type="image/png")
    return _text(page[form] if form in _BARE else to_text(page), used)


def _text(text: str, used: int) -> Response:
    return Response(text, headers={"X-Usage-Tokens": str(used), "Vary": "Accept"}, media_type=TEXT)


def _envelope(data: Any, used: int) -> dict[str, Any]:
    return {"code": 200, "status": 20000, "data": data, "meta": {"usage": {"tokens": used}}}


async def _events(reading: Callable[[], Awaitable[dict[str, Any]]]) -> AsyncIterator[bytes]:
    try:
        event, data = b"data", await reading()
    except Problem as problem:
        event, data = b"error", describe(problem)
    yield b"event: %b\ndata: %b\n\n" % (event, msgspec.json.encode(data))
