"""Prints a page to PDF with the browser's own print function."""

import binascii
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from gossamer.problems import UNPROCESSABLE_ENTITY, Problem
from gossamer.reach.browser.cdp import CdpRefused, CdpSession
from gossamer.reach.page.screenshot import MAX_CAPTURE_BYTES, too_heavy
from gossamer.reach.page.tab import Tab
from gossamer.reach.page.visit import Capture, Paper, Print

REACH: Final = 50_000  # pixels of a page that are scrolled through before it is printed
CHUNK: Final = 1_000_000  # bytes
MILLIMETRES: Final = 25.4  # in an inch
SIZES: Final[Mapping[Paper, tuple[float, float]]] = {  # millimetres, upright
    "A0": (841, 1189),
    "A1": (594, 841),
    "A2": (420, 594),
    "A3": (297, 420),
    "A4": (210, 297),
    "A5": (148, 210),
    "A6": (105, 148),
    "Letter": (215.9, 279.4),
    "Legal": (215.9, 355.6),
    "Tabloid": (279.4, 431.8),
    "Ledger": (431.8, 279.4),
}


class _PrintFault(StrEnum):
    """Which option of the caller the browser cannot print with."""

    MARGINS = "margins"
    PAGE_RANGES = "page_ranges"


_DETAILS: Final = {
    _PrintFault.MARGINS: "The margins leave no room on the paper",
    _PrintFault.PAGE_RANGES: "There are no such pages",
}


class _Printed(msgspec.Struct):
    stream: str


class _Chunk(msgspec.Struct, rename="camel"):
    data: str
    eof: bool
    base64_encoded: bool = False


async def take(tab: Tab, wanted: Print, deadline: float) -> Capture:
    try:
        printed = await tab.session.ask(_Printed, "Page.printToPDF", deadline, **_options(wanted))
    except CdpRefused as refused:
        raise _explain(refused, wanted) from None
    return Capture(await _read(tab.session, printed.stream, deadline))


def _options(wanted: Print) -> dict[str, Any]:
    width, height = (side / MILLIMETRES for side in SIZES[wanted.paper])
    top, right, bottom, left = wanted.margins
    return {
        "paperWidth": width,
        "paperHeight": height,
        "landscape": wanted.landscape,
        "printBackground": wanted.background,
        "scale": wanted.scale,
        "marginTop": top,
        "marginRight": right,
        "marginBottom": bottom,
        "marginLeft": left,
        "pageRanges": wanted.pages,
        "transferMode": "ReturnAsStream",
    }


async def _read(session: CdpSession, stream: str, deadline: float) -> bytes:
    """Read the stream in chunks. If this fails, the stream ends with its tab."""
    body = bytearray()
    while True:
        chunk = await session.ask(_Chunk, "IO.read", deadline, handle=stream, size=CHUNK)
        body += binascii.a2b_base64(chunk.data) if chunk.base64_encoded else chunk.data.encode("latin-1")
        if len(body) > MAX_CAPTURE_BYTES:
            raise too_heavy("PDF", "Ask for fewer pages with `pageRanges`, or without backgrounds.")
        if chunk.eof:
            await session.tell("IO.close", deadline, handle=stream)
            return bytes(body)


def _explain(refused: CdpRefused, wanted: Print) -> Exception:
    fault = _fault_in_message(str(refused))
    if fault is None:
        return refused
    return Problem(
        UNPROCESSABLE_ENTITY,
        _DETAILS[fault],
        hint="Look at the page without them first.",
        details={"reason": fault.value, "pageRanges": wanted.pages or None},
    )


def _fault_in_message(message: str) -> _PrintFault | None:
    """Read Chromium's sentence, because the error code is the same for all options that it refuses."""
    lowered = message.lower()
    if "content area is empty" in lowered:
        return _PrintFault.MARGINS
    return _PrintFault.PAGE_RANGES if "page range" in lowered else None
