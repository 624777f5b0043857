"""The door for clients of Cloudflare Browser Rendering: its own paths, whatever the account."""

import base64
from typing import Any, Final

from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.relay import Relay, RelayedApi, relaying_route
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dropin.browserless import work
from gossamer.doors.http.dropin.browserless.body import BrowserBody, refused
from gossamer.doors.http.dropin.browserless.door import to_file
from gossamer.problems import Problem

ACCOUNTS: Final = "/client/v4/accounts/"
_AUTHENTICATION_ERROR: Final = 10_000  # Cloudflare's own code
_SNAPSHOT: Final = ("content", "screenshot", "markdown")


def _refuse(problem: Problem, exchange: Exchange) -> Response:
    status = problem.kind.status
    text = f"{problem.detail} {problem.hint}" if problem.hint else problem.detail
    error = {
        "code": _AUTHENTICATION_ERROR if status in (401, 403) else status,
        "message": text,
        "requestId": exchange.request_id,
    }
    return answer(
        {"success": False, "result": None, "errors": [error], "messages": []}, status, problem.headers
    )


DIALECT: Final = Dialect("cloudflare", _refuse, prefixes=("/client/v4/",))


def _success(result: Any, **more: Any) -> Response:
    return answer({"success": True, "result": result, "errors": [], "messages": [], **more})


class CloudflareDoor(Struct, frozen=True):
    relay: Relay

    async def content(self, exchange: Exchange, account: str, body: BrowserBody) -> Response:
        page = await work.read_html(self._api(exchange), body)
        about = {"status": page["statusCode"], "title": page["title"]}
        return _success(page["rawHtml"], meta=about)

    async def markdown(self, exchange: Exchange, account: str, body: BrowserBody) -> Response:
        return _success((await work.read_page(self._api(exchange), body, "markdown"))["content"])

    async def screenshot(self, exchange: Exchange, account: str, body: BrowserBody) -> Response:
        return to_file(await work.take_picture(self._api(exchange), body), body)

    async def pdf(self, exchange: Exchange, account: str, body: BrowserBody) -> Response:
        return to_file(await work.print_pdf(self._api(exchange), body))

    async def snapshot(self, exchange: Exchange, account: str, body: BrowserBody) -> Response:
        """The page twice: read, and as a picture."""
        wanted = body.formats or _SNAPSHOT[:2]
        if unknown := [name for name in wanted if name not in _SNAPSHOT]:
            raise refused(f"formats: {unknown[0][:50]}", f"Take one of {', '.join(_SNAPSHOT)}.")
        api = self._api(exchange)
        result: dict[str, Any] = {}
        if "screenshot" in wanted:
            result["screenshot"] = base64.b64encode((await work.take_picture(api, body)).body).decode()
        read = {"content": "rawHtml", "markdown": "markdown"}
        formats = [read[name] for name in wanted if name in read]
        if formats:
            page = await work.read_page(api, body, *formats)
            kept = {"content": page.get("rawHtml"), "markdown": page.get("content")}
            result |= {name: kept[name] for name in wanted if name in kept}
        return _success(result)

    async def links(self, exchange: Exchange, account: str, body: BrowserBody) -> Response:
        return _success(await work.list_links(self._api(exchange), body))

    async def scrape(self, exchange: Exchange, account: str, body: BrowserBody) -> Response:
        return _success(await work.scrape(self._api(exchange), body))

    async def json(self, exchange: Exchange, account: str, body: BrowserBody) -> Response:
        return _success(await work.extract(self._api(exchange), body))

    def _api(self, exchange: Exchange) -> RelayedApi:
        return self.relay.acting_for(exchange)

    def routes(self) -> list[Route]:
        handlers: tuple[tuple[str, Any, str], ...] = (
            ("content", self.content, "The HTML of a page after its scripts"),
            ("markdown", self.markdown, "A page as Markdown"),
            ("screenshot", self.screenshot, "A picture of a page"),
            ("pdf", self.pdf, "A page as PDF"),
            ("snapshot", self.snapshot, "The HTML of a page, and a picture"),
            ("links", self.links, "The links of a page"),
            ("scrape", self.scrape, "Elements of a page"),
            ("json", self.json, "Data of a page, by a schema or a prompt"),
        )
        mount = f"{ACCOUNTS}{{account}}/browser-rendering"
        return [
            relaying_route(DIALECT, "POST", f"{mount}/{name}", handler, summary, deadline=work.SECONDS)
            for name, handler, summary in handlers
        ]
