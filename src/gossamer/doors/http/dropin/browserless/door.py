"""The door for clients of Browserless: /browserless, with the key as `?token=`."""

import base64
from typing import Any, Final
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.responses import Response

from gossamer.client.transport import Reply
from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.relay import Relay, RelayedApi, relaying_route
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dropin.browserless import work
from gossamer.doors.http.dropin.browserless.body import BrowserBody
from gossamer.doors.http.dropin.browserless.captures import wants_base64
from gossamer.problems import Problem

MOUNTS: Final = ("/browserless", "/browserless/chromium", "/browserless/chrome")


def _token(exchange: Exchange) -> str | None:
    query = exchange.scope["query_string"].decode("latin-1")
    return dict(parse_qsl(query)).get("token")


def _refuse(problem: Problem, _exchange: Exchange) -> Response:
    text = f"{problem.detail} {problem.hint}" if problem.hint else problem.detail
    return Response(text, problem.kind.status, problem.headers, media_type="text/plain")


DIALECT: Final = Dialect("browserless", _refuse, prefixes=("/browserless/",), secret=_token)


class BrowserlessDoor(Struct, frozen=True):
    relay: Relay

    async def content(self, exchange: Exchange, body: BrowserBody) -> Response:
        page = await work.read_html(self._api(exchange), body)
        return Response(page["rawHtml"], headers=_about(page["statusCode"]), media_type="text/html")

    async def markdown(self, exchange: Exchange, body: BrowserBody) -> Response:
        page = await work.read_page(self._api(exchange), body, "markdown")
        return Response(page["content"], headers=_about(page["statusCode"]), media_type="text/markdown")

    async def screenshot(self, exchange: Exchange, body: BrowserBody) -> Response:
        return to_file(await work.take_picture(self._api(exchange), body), body)

    async def pdf(self, exchange: Exchange, body: BrowserBody) -> Response:
        return to_file(await work.print_pdf(self._api(exchange), body))

    async def scrape(self, exchange: Exchange, body: BrowserBody) -> Response:
        return answer({"data": await work.scrape(self._api(exchange), body)})

    def _api(self, exchange: Exchange) -> RelayedApi:
        return self.relay.acting_for(exchange)

    def routes(self) -> list[Route]:
        handlers: tuple[tuple[str, Any, str], ...] = (
            ("content", self.content, "The HTML of a page after its scripts"),
            ("markdown", self.markdown, "A page as Markdown"),
            ("screenshot", self.screenshot, "A picture of a page"),
            ("pdf", self.pdf, "A page as PDF"),
            ("scrape", self.scrape, "Elements of a page"),
        )
        return [
            relaying_route(DIALECT, "POST", f"{mount}/{name}", handler, summary, deadline=work.SECONDS)
            for mount in MOUNTS
            for name, handler, summary in handlers
        ]


def to_file(reply: Reply, body: BrowserBody | None = None) -> Response:
    """The bare file; as base64 if the options of a picture say so."""
    headers = _about(reply.headers["x-page-status"])
    if body is not None and wants_base64(body):
        return Response(base64.b64encode(reply.body), headers=headers, media_type="text/plain")
    return Response(reply.body, headers=headers, media_type=reply.headers["content-type"])


def _about(status: object) -> dict[str, str]:
    return {"x-response-code": str(status)}
