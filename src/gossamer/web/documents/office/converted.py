"""Converted: a document as HTML, with what it says about itself."""

from html import escape
from typing import Final

from msgspec import Struct

MAX_HTML_CHARS: Final = 4_000_000  # what follows is left out

__all__ = ["MAX_HTML_CHARS", "Converted", "HtmlWriter", "escape"]


class Converted(Struct, frozen=True, kw_only=True):
    html: str
    title: str = ""
    author: str = ""
    description: str = ""
    created: str = ""  # ISO 8601
    language: str = ""
    page_count: int | None = None  # slides, sheets or chapters
    complete: bool = True


class HtmlWriter:
    """Collects HTML up to a bound."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._left = MAX_HTML_CHARS
        self.complete = True

    def add(self, html: str) -> bool:
        """False if it did not fit, and nothing more will."""
        if len(html) > self._left or not self.complete:
            self.complete = False
            return False
        self._left -= len(html)
        self._parts.append(html)
        return True

    @property
    def html(self) -> str:
        return "".join(self._parts)


def table(rows: list[list[str]]) -> str:
    """A table whose first row is its header. The cells are HTML."""
    head, *body = rows or [[]]
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in body)
    return f"<table><thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead>{lines}</table>"
