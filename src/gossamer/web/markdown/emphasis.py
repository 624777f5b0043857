"""Emphasis: write pieces of text with markers that Markdown recognises where they are.

A marker opens only before text, and closes only after it. Between a letter and a sign it does neither: then
the sign is moved out of the emphasis, or the emphasis is written as HTML.
"""

import re
from typing import Final, NamedTuple
from unicodedata import category

BREAK: Final = "\x1e"  # a line break, until the block writes it in its own way
_UNMOVABLE: Final = frozenset("[]()`<>!*~\\$" + BREAK)
_AS_HTML: Final = {"*": "em", "**": "strong", "~~": "del"}


class InlinePiece(NamedTuple):
    text: str
    marker: str = ""  # written before and after the text


def merge_pieces(pieces: list[InlinePiece]) -> list[InlinePiece]:
    """Join neighbours that are marked alike; of neighbours whose markers would run together, write one as
    HTML."""
    merged: list[InlinePiece] = []
    for piece in pieces:
        text, marker = piece
        if not text:
            continue
        if merged and marker and merged[-1].marker == marker:
            merged[-1] = InlinePiece(merged[-1].text + text, marker)
        elif merged and _run_together(merged[-1], piece):
            merged.append(InlinePiece(_html(text, marker)))
        else:
            merged.append(piece)
    return merged


def _run_together(one: InlinePiece, other: InlinePiece) -> bool:
    both = one.marker in _AS_HTML and other.marker in _AS_HTML and one.marker[0] == other.marker[0]
    return both and not one.text[-1].isspace() and not other.text[0].isspace()


def mark(text: str, marker: str, before: str, after: str) -> str:
    """Write emphasis between two characters."""
    core = text.strip()
    if not core:
        return text
    lead, trail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    inner = core.strip(marker[0])  # markers inside join those around them
    if not inner:
        return _html(text, marker)
    if not lead and is_letter(before) and is_sign(inner[0]):
        return _shift_mark(text, marker, before, after, first=True)
    if not trail and is_letter(after) and is_sign(inner[-1]):
        return _shift_mark(text, marker, before, after, first=False)
    return f"{lead}{marker}{core}{marker}{trail}"


def _shift_mark(text: str, marker: str, before: str, after: str, *, first: bool) -> str:
    sign = text[0] if first else text[-1]
    if sign in _UNMOVABLE or len(text) == 1 or text[-2:-1] == "\\":
        return _html(text, marker)
    if first:
        return sign + mark(text[1:], marker, sign, after)
    return mark(text[:-1], marker, before, sign) + sign


def _html(text: str, marker: str) -> str:
    tag = _AS_HTML[marker]
    return f"<{tag}>{text}</{tag}>"


def split_paragraphs(text: str, marker: str) -> list[InlinePiece]:
    """Mark each paragraph separately."""
    if BREAK * 2 not in text:
        return [InlinePiece(text, marker)]
    parts = re.split(f"({BREAK}{{2,}})", text)
    return [InlinePiece(part) if part.startswith(BREAK) else InlinePiece(part, marker) for part in parts]


def is_letter(character: str) -> bool:
    """Whether Markdown counts it neither as white space nor as punctuation."""
    return bool(character) and not character.isspace() and not is_sign(character)


def is_sign(character: str) -> bool:
    return not character.isalnum() and not character.isspace() and category(character)[0] in "PS"
