"""A CSS selector that is meant for a browser: what can be said of it without one."""

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from gossamer.web.tree import select

# Browsers know more pseudo-classes, and namespaces, nesting and comments: what may have any is left to them.
_LEFT_TO_THEM: Final = re.compile(r"[:|&]|/\*")


def refuse_broken(selector: str) -> None:
    """What no browser would take is `INVALID_SELECTOR`."""
    if not _LEFT_TO_THEM.search(selector):
        select(LexborHTMLParser(""), selector)
