"""Assets: the style sheet and the ES modules of the dashboard, served under a name that changes with them."""

import hashlib
from functools import lru_cache
from importlib import resources
from typing import Final

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.docs.page import FOREVER, HtmlPage
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Assets(Struct, frozen=True):
    base: str  # the address that the modules find each other at
    files: dict[str, HtmlPage]

    async def file(self, exchange: Exchange, edition: str, file: str) -> Response:
        found = self.files.get(file)
        if found is None or not self.base.endswith(f"/{edition}"):
            raise Problem(problems.NOT_FOUND, f"There is no file {file[:64]!r}.")
        return found.answer(exchange)

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/app/assets/{edition}/{file}",
                handler=self.file,
                needs=Role.NOBODY,
                tag="Dashboard",
                summary="A style sheet or module of the dashboard",
                counted=False,
                page=True,
            )
        ]


@lru_cache(maxsize=1)
def load_assets() -> Assets:
    """All files of the folder. They are loaded together, so they share one edition."""
    folder = resources.files("gossamer.doors.http.dashboard").joinpath("assets")
    files: dict[str, HtmlPage] = {}
    edition = hashlib.sha256()
    for file in sorted(folder.iterdir(), key=lambda found: found.name):
        media_type = _TYPES.get(file.name[file.name.rfind(".") :])
        if media_type is None:
            continue
        body = file.read_bytes()
        edition.update(file.name.encode() + body)
        files[file.name] = HtmlPage.of(body, media_type, FOREVER)
    return Assets(f"/app/assets/{edition.hexdigest()[:12]}", files)
