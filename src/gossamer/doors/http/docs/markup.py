"""Turns text and JSON into HTML. All text is escaped before tags are added."""

import json
import re
from typing import Any, Final

from markupsafe import Markup, escape

_TOKEN: Final = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>true|false|null)"
)
_CODE: Final = re.compile(r"`([^`]+)`")


def prose(text: str) -> Markup:
    """Running text, with `code` between backticks."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704  (escaped in the same line)


def highlight(value: Any) -> Markup:
    """A value as indented JSON, each token in a span of its kind."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    parts: list[Markup] = []
    end = 0
    for token in _TOKEN.finditer(text):
        parts.append(escape(text[end : token.start()]))
        parts.append(Markup('<span class="{}">{}</span>').format(token.lastgroup, token[0]))
        end = token.end()
    return Markup("").join([*parts, escape(text[end:])])


def breakable(path: str) -> Markup:
    """A path that may break at its slashes, and nowhere else."""
    return Markup("/<wbr>").join(path.split("/"))
