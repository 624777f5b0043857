"""Finds the scripts whose letters a browser cannot show, on a page or at all.

The browser draws the letters as the page would, so web fonts count, and fonts that bubblewrap hides do not.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from gossamer.reach.browser.cdp import CdpGone, CdpRefused
from gossamer.reach.page.tab import Tab, script
from gossamer.reach.page.waiting import LiveDocument

SECONDS: Final = 2.0
_BOUNDS: Final = {
    "nodes": 100_000,  # of a page that are read
    "letters": 2_000,  # different letters
    "each": 20,  # of each script that are drawn
}
# A letter of every script that is written today, by the script's name in Unicode; Latin is always there.
SAMPLES: Final[Mapping[str, str]] = {
    "Adlam": "\U0001e900",
    "Arabic": "\u0639",
    "Armenian": "\u0531",
    "Balinese": "\u1b13",
    "Bengali": "\u0995",
    "Bopomofo": "\u3105",
    "Canadian_Aboriginal": "\u1403",
    "Cham": "\uaa06",
    "Cherokee": "\u13a0",
    "Cyrillic": "\u0416",
    "Devanagari": "\u0915",
    "Emoji": "\U0001f389",
    "Ethiopic": "\u1200",
    "Georgian": "\u10d0",
    "Greek": "\u03a9",
    "Gujarati": "\u0a95",
    "Gurmukhi": "\u0a15",
    "Han": "\u6f22",
    "Hangul": "\ud55c",
    "Hebrew": "\u05d0",
    "Hiragana": "\u3042",
    "Javanese": "\ua98f",
    "Kannada": "\u0c95",
    "Katakana": "\u30a2",
    "Khmer": "\u1780",
    "Lao": "\u0e81",
    "Lisu": "\ua4d0",
    "Malayalam": "\u0d15",
    "Meetei_Mayek": "\uabc0",
    "Mongolian": "\u1820",
    "Myanmar": "\u1000",
    "Nko": "\u07ca",
    "Ol_Chiki": "\u1c5a",
    "Oriya": "\u0b15",
    "Sinhala": "\u0d9a",
    "Sundanese": "\u1b8a",
    "Syriac": "\u0710",
    "Tai_Tham": "\u1a20",
    "Tamil": "\u0b95",
    "Telugu": "\u0c15",
    "Thaana": "\u0780",
    "Thai": "\u0e01",
    "Tibetan": "\u0f40",
    "Tifinagh": "\u2d30",
    "Vai": "\ua500",
    "Yi": "\ua000",
}


class _Names(msgspec.Struct):
    value: tuple[str, ...] = ()


class _FontAnswer(msgspec.Struct):
    result: _Names


async def missing_on(document: LiveDocument, deadline: float) -> tuple[str, ...]:
    """The scripts in the page's text that are shown as boxes; none if the page does not answer."""
    soon = min(deadline, asyncio.get_running_loop().time() + SECONDS)
    try:
        raw = await document.run("glyphs", soon, list(SAMPLES), None, _BOUNDS)
    except (CdpRefused, CdpGone, TimeoutError):
        return ()
    return msgspec.json.decode(raw, type=tuple[str, ...])


async def missing_in(tab: Tab, deadline: float) -> tuple[str, ...]:
    """The scripts that the browser has no font for."""
    given = msgspec.json.encode(["", "", list(SAMPLES), "".join(SAMPLES.values()), _BOUNDS]).decode()
    expression = f"({script('glyphs')})(...{given})"
    answer = await tab.session.ask(
        _FontAnswer, "Runtime.evaluate", deadline, expression=expression, returnByValue=True
    )
    return answer.result.value
