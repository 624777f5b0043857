"""What a page holds but does not show: characters without a shape, and styles that keep a text from the eye.

Both carry words past a person to a machine that reads for them. Only what can be told from an element's own
style is told here; what a style sheet does, a browser knows.
"""

import re
from functools import lru_cache
from typing import Final

# Marks of no width, fillers, controls of direction, invisible operators, tags and variants that spell bytes.
_SHAPELESS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# Joiners and the two variants of emoji mean something after a character that can take them, once.
_JOINERS: Final = re.compile("[\u200c\u200d\ufe0e\ufe0f]+")


def visible(text: str) -> str:
    """Without the characters that nobody sees."""
    if text.isascii() and text.isprintable():
        return text
    text = _SHAPELESS.sub("", text)
    return _JOINERS.sub(_kept, text) if not text.isascii() else text


def _kept(marks: re.Match[str]) -> str:
    text, at, end = marks.string, marks.start(), marks.end()
    before, after = text[at - 1 : at], text[end : end + 1]
    found = marks[0]
    variant = found[0] if found[0] in "\ufe0e\ufe0f" and _takes_mark(before) else ""
    joiner = found[-1] if found[-1] in "\u200c\u200d" and _takes_mark(before) and _takes_mark(after) else ""
    return variant + joiner


def _takes_mark(character: str) -> bool:
    return character > "\xa8" or (character.isdigit() and bool(character))


_DECLARED: Final = re.compile(r"(?:^|;)\s*([a-z-]+)\s*:\s*([^;]+)", re.IGNORECASE)
_ZERO: Final = re.compile(r"[+-]?(?:0++\.?0*+|\.0++)(?:px|em|rem|pt|%|vw|vh)?")
_FAR: Final = re.compile(
    r"-(?:\d{4,}|[5-9]\d\d)(?:\.\d+)?(?:px|pt)|-(?:\d{3,}|[5-9]\d)(?:\.\d+)?(?:em|rem|vw|vh)|-\d{4,}%"
)
_CLIPPED: Final = re.compile(r"rect\(\s*(?:0|1)[^1-9]*\)|inset\(\s*(?:50|100)%\s*\)|circle\(0")
_OFFSETS: Final = ("left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top")
_MOVING: Final = frozenset({"transform", "transition", "animation", "animation-name", "will-change"})
_WHITE: Final = frozenset({"white", "#fff", "#ffffff", "rgb(255,255,255)", "rgba(255,255,255,1)"})
_BLACK: Final = frozenset({"black", "#000", "#000000", "rgb(0,0,0)", "rgba(0,0,0,1)"})


@lru_cache(maxsize=4096)
def style_hides(style: str, *, strict: bool = False) -> bool:
    """Whether an element of that style is there for nobody's eyes.

    What is transparent is often faded in later: only who is strict takes it for hidden.
    """
    found = _declarations(style)
    return (
        found.get("display") == "none"
        or found.get("visibility") in ("hidden", "collapse")
        or (strict and _ZERO.fullmatch(found.get("opacity", "1")) is not None and not _MOVING & found.keys())
        or any(_FAR.fullmatch(found.get(name, "")) is not None for name in _OFFSETS)
        or _CLIPPED.match(found.get("clip", "") or found.get("clip-path", "")) is not None
        or _is_camouflaged(found)
    )


@lru_cache(maxsize=4096)
def style_shrinks(style: str) -> bool:
    """Whether the text of such an element has no size; what is inside may have set its own again."""
    return _ZERO.fullmatch(_declarations(style).get("font-size", "1")) is not None


def _declarations(style: str) -> dict[str, str]:
    return {name.lower(): _plain(value) for name, value in _DECLARED.findall(style)}


def _plain(value: str) -> str:
    return re.sub(r"\s+", "", value).lower().removesuffix("!important")


def _is_camouflaged(found: dict[str, str]) -> bool:
    """Written in the colour of its own ground."""
    colour, ground = found.get("color", ""), found.get("background-color") or found.get("background", "")
    if not colour or not ground:
        return False
    return colour == ground or {colour, ground} <= _WHITE or {colour, ground} <= _BLACK
