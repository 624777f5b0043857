"""CapturedFile: a picture or a PDF of a page, as the commands ask for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from gossamer.client.client import Client
from gossamer.doors import wording
from gossamer.flows.pages.capture_request import CaptureRequest
from gossamer.web.documents.image_size import size_of
from gossamer.web.pages.capture_answer import PictureFormat

NOT_OK: Final = 3
BROWSER_SETTINGS: Final = (
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "chromium",
    "fence",
    "browser_url",
    "browser_proxy_url",
    "data_dir",
)
_FORMATS: Final[dict[str, PictureFormat]] = {
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".webp": "webp",
}


def picture_format(path: Path, option: str) -> PictureFormat:
    kind = _FORMATS.get(path.suffix.lower())
    if kind is None:
        raise click.BadParameter("the name must end in .png, .jpg or .webp", param_hint=option)
    return kind


class CapturedFile(Struct, frozen=True):
    """A picture or a PDF of a page, and what its headers say about it."""

    body: bytes
    headers: Mapping[str, str]

    @property
    def outcome(self) -> str:
        return self.headers["x-outcome"]

    @property
    def reason(self) -> str:
        return self.headers.get("x-outcome-reason", "")

    @property
    def status(self) -> str:
        return self.headers["x-page-status"]

    @property
    def missing_scripts(self) -> str:
        return self.headers.get("x-missing-scripts", "")

    @property
    def description(self) -> str:
        size = wording.size(len(self.body))
        if self.headers["content-type"].startswith("image/"):
            width, height = size_of(self.body)
            cut = ", cut" if "x-truncated" in self.headers else ""
            return f"{width} x {height} pixels{cut}, {size}"
        pages = self.headers.get("x-page-count")
        return size if pages is None else f"pages: {pages}, {size}"


async def ask_for_file(web: Client, request: CaptureRequest) -> CapturedFile:
    """The bare file: as JSON it would be a third larger, and bounded."""
    reply = await web.send("POST", f"/{request.endpoint}", request, accept=request.media_type)
    return CapturedFile(reply.body, reply.headers)
