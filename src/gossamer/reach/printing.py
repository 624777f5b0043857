"""Printing: a page on paper, as the browser's own print to PDF has it."""

import binascii
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gossamer.problems import UNPROCESSABLE_ENTITY, Problem
from gossamer.reach.cdp import Refused, Session
from gossamer.reach.shot import LARGEST, too_heavy
from gossamer.reach.tab import Tab
from gossamer.reach.visit import Capture, Paper, Print

REACH: Final = 50_000  # pixels of a page that are looked at before it is printed
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
_REFUSALS: Final = {  # what the browser says of parameters that make no sense, and what we say
    "content area is empty": ("margins", "The margins leave no room on the paper"),
    "page range": ("page_ranges", "There are no such pages"),
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
    except Refused as refused:
        raise _explained(refused, wanted) from None
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


async def _read(session: Session, stream: str, deadline: float) -> bytes:
    """Chunk by chunk; what is left of it goes with its tab."""
    body = bytearray()
    while True:
        chunk = await session.ask(_Chunk, "IO.read", deadline, handle=stream, size=CHUNK)
        body += binascii.a2b_base64(chunk.data) if chunk.base64_encoded else chunk.data.encode("latin-1")
        if len(body) > LARGEST:
            raise too_heavy("PDF", "Ask for fewer pages with `pageRanges`, or without backgrounds.")
        if chunk.eof:
            await session.tell("IO.close", deadline, handle=stream)
            return bytes(body)


def _explained(refused: Refused, wanted: Print) -> Exception:
    said = str(refused).lower()
    for words, (reason, detail) in _REFUSALS.items():
        if words in said:
            return Problem(
                UNPROCESSABLE_ENTITY,
                detail,
                hint="Look at the page without them first.",
                details={"reason": reason, "pageRanges": wanted.pages or None},
            )
    return refused
