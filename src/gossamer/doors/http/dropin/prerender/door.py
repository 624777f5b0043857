"""The door for clients of Prerender and Rendertron: behind /prerender, or at the root of a host of its own.

Its answers do not have our standard headers, since the middleware passes all headers on to robots. So nothing
keeps the scripts of a page still that a browser would show as one of ours. Therefore a session's cookie is no
key here: a browser that is sent to this door gets no page.
"""

from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.render.robot_visit import MAX_ROBOT_CHARS
from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.relay import Relay, RelayedApi, relaying_route
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dropin.prerender.page import (
    ORIGIN_SECONDS,
    page_for_robots,
    page_of_origin,
    refuse_robot,
)
from gossamer.doors.http.dropin.prerender.target import RENDERTRON_OPTIONS, read_target, target_behind
from gossamer.problems import Problem, validation_error

MOUNT: Final = "/prerender"
_CAPTURE_SECONDS: Final = 40.0
_PICTURES: Final = {"png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp"}
_DONE: Final = {"status": "ok"}


def _token(exchange: Exchange) -> str | None:
    return exchange.header(b"x-prerender-token")


def _refuse(problem: Problem, exchange: Exchange) -> Response:
    if exchange.method == "POST":  # a program asks, and no robot
        shown = {"error": problem.detail, "code": problem.kind.code, "requestId": exchange.request_id}
        return answer(shown, problem.kind.status)
    return refuse_robot(problem, exchange)


_COMMON: Final[dict[str, Any]] = {
    "name": "prerender",
    "refuse": _refuse,
    "secret": _token,
    "adds_headers": False,
}
DIALECT: Final = Dialect(prefixes=(f"{MOUNT}/",), **_COMMON)
HOST_DIALECT: Final = Dialect(prefixes=("/",), **_COMMON)


class RecacheRequest(msgspec.Struct, rename="camel"):
    """The pages to render again."""

    prerender_token: str = ""
    url: str = ""
    urls: list[str] = []


class PrerenderDoor(Struct, frozen=True):
    relay: Relay
    seconds: float  # to wait for a page that is not cached
    mount: str = MOUNT  # empty at the root of a host

    async def page(self, exchange: Exchange, url: str) -> Response:
        """What a robot gets, for the middleware of a site."""
        target = target_behind(exchange, f"{self.mount}/")
        return await (
            await page_for_robots(self._api(exchange), target, self.seconds, _robot(exchange))
        ).answer(exchange)

    async def render(self, exchange: Exchange) -> Response:
        """The same by parameters; also as a picture or as PDF."""
        given = dict(parse_qsl(exchange.scope["query_string"].decode("utf-8", "replace")))
        return await self._render(exchange, given)

    async def render_by_body(self, exchange: Exchange, body: dict[str, Any]) -> Response:
        return await self._render(exchange, {name: str(value) for name, value in body.items()})

    async def _render(self, exchange: Exchange, given: dict[str, str]) -> Response:
        api, target = self._api(exchange), read_target(given.get("url", ""))
        kind = given.get("renderType", "html")
        if kind in _PICTURES:
            return await _take_picture(api, target, kind, given)
        if kind == "pdf":
            return _as_it_is(await api.send("POST", "/pdf", {"url": target}, {"accept": "application/pdf"}))
        if kind != "html":
            raise validation_error(
                f"The renderType {kind[:50]!r} is not supported.", hint="Take html, png, jpeg, webp or pdf."
            )
        if given.get("javascript") == "false":
            return await (await page_of_origin(api, target)).answer(exchange)
        return await (await page_for_robots(api, target, self.seconds, _robot(exchange))).answer(exchange)

    async def recache(self, exchange: Exchange, body: RecacheRequest) -> Response:
        urls = body.urls or ([body.url] if body.url else [])
        if not urls:
            raise validation_error("There is neither `url` nor `urls`.", hint="Name the pages to render.")
        asked = {"urls": [read_target(url) for url in urls], "maxAge": 0}
        await self._api(exchange, body.prerender_token).send("POST", "/api/cache/warm", asked)
        return answer(_DONE)

    async def rendertron(self, exchange: Exchange, url: str) -> Response:
        target = target_behind(exchange, f"{self.mount}/render/", RENDERTRON_OPTIONS)
        options: dict[str, Any] = {"device": "mobile"} if _has(exchange, "mobile") else {}
        if _has(exchange, "refreshCache"):
            options |= {"maxAge": 0, "staleWhileRevalidate": 0, "siteFreshness": False}
        page = await page_for_robots(self._api(exchange), target, self.seconds, _robot(exchange), **options)
        return await page.answer(exchange)

    async def screenshot(self, exchange: Exchange, url: str) -> Response:
        target = target_behind(exchange, f"{self.mount}/screenshot/", RENDERTRON_OPTIONS)
        given = dict(parse_qsl(exchange.scope["query_string"].decode("utf-8", "replace")))
        options = {"device": "mobile"} if _has(exchange, "mobile") else {}
        return await _take_picture(self._api(exchange), target, "jpeg", given, **options)

    async def invalidate(self, exchange: Exchange, url: str) -> Response:
        target = target_behind(exchange, f"{self.mount}/invalidate/")
        await self._api(exchange).send("DELETE", f"/api/cache?url={quote(target, safe='')}")
        return answer(_DONE)

    async def invalidate_all(self, exchange: Exchange) -> Response:
        await self._api(exchange).send("DELETE", "/api/cache?all=true")
        return answer(_DONE)

    def _api(self, exchange: Exchange, token: str = "") -> RelayedApi:
        return self.relay.acting_for(exchange, {"authorization": f"Bearer {token}"} if token else None)

    def routes(self, dialect: Dialect = DIALECT, host: str = "") -> list[Route]:
        """The last takes whatever the others do not."""
        deadline = self.seconds + ORIGIN_SECONDS + 5
        handlers = (
            ("GET", "/render", self.render, "A page by parameters", _CAPTURE_SECONDS),
            ("POST", "/render", self.render_by_body, "The same by a body", _CAPTURE_SECONDS),
            ("POST", "/recache", self.recache, "Render pages again", None),
            ("GET", "/render/{url*}", self.rendertron, "A page, as Rendertron's clients ask", deadline),
            ("GET", "/screenshot/{url*}", self.screenshot, "A picture of a page", _CAPTURE_SECONDS),
            ("GET", "/invalidate", self.invalidate_all, "Forget all rendered pages", None),
            ("GET", "/invalidate/{url*}", self.invalidate, "Forget a rendered page", None),
            ("GET", "/{url*}", self.page, "The page that a robot gets", deadline),
        )
        made = (
            relaying_route(dialect, method, self.mount + path, handler, summary, deadline=bound)
            for method, path, handler, summary, bound in handlers
        )
        return [replace(route, host=host) for route in made]


def prerender_host_routes(relay: Relay, seconds: float, host: str) -> list[Route]:
    return PrerenderDoor(relay, seconds, "").routes(HOST_DIALECT, host)


async def _take_picture(
    api: RelayedApi, url: str, kind: str, given: dict[str, str], **options: str
) -> Response:
    asked: dict[str, Any] = {"url": url, "format": kind, **options}
    sides = {side: _number(side, given[side]) for side in ("width", "height") if given.get(side)}
    if sides:
        asked["viewport"] = sides
    if given.get("fullpage", "false").lower() in ("true", "1"):
        asked["fullPage"] = True
    return _as_it_is(await api.send("POST", "/screenshot", asked, {"accept": _PICTURES[kind]}))


def _robot(exchange: Exchange) -> str:
    return (exchange.header(b"user-agent") or "")[:MAX_ROBOT_CHARS]


def _as_it_is(reply: Any) -> Response:
    return Response(reply.body, media_type=reply.headers["content-type"])


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 5:
        raise Problem(problems.VALIDATION_ERROR, f"{name} is not a number of pixels.", hint="Take 1280.")
    return int(text)


def _has(exchange: Exchange, option: str) -> bool:
    query = exchange.scope["query_string"].decode("utf-8", "replace")
    return any(part.partition("=")[0] == option for part in query.split("&"))
