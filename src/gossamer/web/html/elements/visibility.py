"""Visibility: characters that are not displayed, and inline styles that hide an element.

Both can pass text to a machine that a person does not see. Only inline styles are checked here; style sheets
take a browser.
"""

import re
from functools import lru_cache
from typing import Final

# Zero-width characters, fillers, direction controls, invisible operators, tags and variation selectors.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# Joiners and the two emoji variation selectors are meaningful once, after a character that accepts them.
_JOINERS: Final = re.compile("[\u200c\u200d\ufe0e\ufe0f]+")


def strip_invisible(text: str) -> str:
    """Remove the characters that are not displayed."""
    if text.isascii() and text.isprintable():
        return text
    text = _INVISIBLE.sub("", text)
    return _JOINERS.sub(_keep_joiner, text) if not text.isascii() else text


def _keep_joiner(marks: re.Match[str]) -> str:
    text, at, end = marks.string, marks.start(), marks.end()
    before, after = text[at - 1 : at], text[end : end + 1]
    found = marks[0]
    variant = found[0] if found[0] in "\ufe0e\ufe0f" and _takes_mark(before) else ""
    joiner = found[-1] if found[-1] in "\u200c\u200d" and _takes_mark(before) and _takes_mark(after) else ""
    return variant + joiner


def _takes_mark(character: str) -> bool:
    return character > "\xa8" or (character.isdigit() and bool(character))


# Parts that a page shows on a click: panels of tabs and accordions, and notes.
_PANEL: Final = re.compile(
    r"(?:^|[\s_-])(?:tab-?(?:pane|panel|content)|tabs?_+(?:pane|panel|content)|accordion[\w-]*(?:body|content|panel|collapse)"
    r"|panel-collapse|faq[\w-]*(?:answer|content|body)|toggle-content|expandable-content|footnote-?content|fna-content"
    r"|(?<!navbar-)collapse)(?:$|\s)",
    re.I,
)
_NO_PANEL: Final = re.compile(r"(?:^|[\s_-])(?:nav|navbar|menu|modal|dialog|search|dropdown)", re.I)


@lru_cache(maxsize=4096)
def is_panel(hints: str, role: str) -> bool:
    """Whether the names or the role of a hidden element say that a click shows it as part of the text."""
    return role == "tabpanel" or (bool(_PANEL.search(hints)) and not _NO_PANEL.search(hints))


_DECLARATION: Final = re.compile(r"(?:^|;)\s*([a-z-]+)\s*:\s*([^;]+)", re.IGNORECASE)
_ZERO: Final = re.compile(r"[+-]?(?:0++\.?0*+|\.0++)(?:px|em|rem|pt|%|vw|vh)?")
_OFF_SCREEN: Final = re.compile(
    r"-(?:\d{4,}|[5-9]\d\d)(?:\.\d+)?(?:px|pt)|-(?:\d{3,}|[5-9]\d)(?:\.\d+)?(?:em|rem|vw|vh)|-\d{4,}%"
)
_CLIPPED: Final = re.compile(r"rect\(\s*(?:0|1)[^1-9]*\)|inset\(\s*(?:50|100)%\s*\)|circle\(0")
_OFFSETS: Final = ("left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top")
_ANIMATED: Final = frozenset({"transform", "transition", "animation", "animation-name", "will-change"})
_WHITE: Final = frozenset({"white", "#fff", "#ffffff", "rgb(255,255,255)", "rgba(255,255,255,1)"})
_BLACK: Final = frozenset({"black", "#000", "#000000", "rgb(0,0,0)", "rgba(0,0,0,1)"})


@lru_cache(maxsize=4096)
def style_hides(style: str, *, strict: bool = False) -> bool:
    """Whether an element with that style is hidden.

    Transparent elements are often faded in later, so they count as hidden only if `strict`.
    """
    found = _declarations(style)
    return (
        found.get("display") == "none"
        or found.get("visibility") in ("hidden", "collapse")
        or (
            strict and _ZERO.fullmatch(found.get("opacity", "1")) is not None and not _ANIMATED & found.keys()
        )
        or any(_OFF_SCREEN.fullmatch(found.get(name, "")) is not None for name in _OFFSETS)
        or _CLIPPED.match(found.get("clip", "") or found.get("clip-path", "")) is not None
        or _is_camouflaged(found)
    )


@lru_cache(maxsize=4096)
def style_shrinks(style: str) -> bool:
    """Whether the text of such an element has no size; its children may set their own."""
    return _ZERO.fullmatch(_declarations(style).get("font-size", "1")) is not None


def _declarations(style: str) -> dict[str, str]:
    return {name.lower(): _normalise(value) for name, value in _DECLARATION.findall(style)}


def _normalise(value: str) -> str:
    return re.sub(r"\s+", "", value).lower().removesuffix("!important")


def _is_camouflaged(found: dict[str, str]) -> bool:
    """Whether the text has the colour of its background."""
    colour, ground = found.get("color", ""), found.get("background-color") or found.get("background", "")
    if not colour or not ground:
        return False
    return colour == ground or {colour, ground} <= _WHITE or {colour, ground} <= _BLACK
