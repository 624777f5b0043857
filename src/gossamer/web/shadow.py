"""Declarative shadow roots, read as what they are: a part of the page that is shown.

To a parser of HTML a template is something to be used later, and what is in it is no part of the page. One
with `shadowrootmode` is the exception: a browser shows it in its host at once. Servers write such pages, and
so do we of what a browser has rendered. It becomes an element that nobody else has, before what its host has
in the light; which slot shows what is not followed.
"""

import re
from typing import Final

_SIGN: Final = "shadowrootmode"
# Whatever is left open goes on to the end, so nothing is looked at twice.
_PIECE: Final = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>]).*?(?:</\1|\Z)"
    r"|<(/?)template(?=[\s/>])([^>]*+)(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def composed(html: str) -> str:
    """The same page without shadow roots; itself if it has none."""
    return _Composing().run(html) if _SIGN in html else html


class _Composing:
    def __init__(self) -> None:
        self.roots: list[bool] = []  # of the templates that are open: is it a shadow root?

    def run(self, html: str) -> str:
        return _PIECE.sub(self._piece, html)

    def _piece(self, found: re.Match[str]) -> str:
        end, attributes = found[2], found[3]
        if attributes is None:
            return found[0]
        if end:
            return "</shadow-root>" if self.roots and self.roots.pop() else found[0]
        self.roots.append(_SIGN in attributes.lower())
        return "<shadow-root>" if self.roots[-1] else found[0]
