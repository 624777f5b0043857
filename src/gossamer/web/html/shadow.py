"""Shadow roots: make declarative shadow roots a visible part of the page.

An HTML parser keeps the content of a template out of the page. A template with `shadowrootmode` is the
exception: a browser shows it in its host at once. Servers write such pages, and so does our own rendering.
Here, the template becomes a `shadow-root` element before the other content of its host. Slots are ignored.
"""

import re
from typing import Final

_SIGN: Final = "shadowrootmode"
# An unclosed part extends to the end, so nothing is scanned twice.
_TOKEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>]).*?(?:</\1|\Z)"
    r"|<(/?)template(?=[\s/>])([^>]*+)(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def flatten_shadow_roots(html: str) -> str:
    """Return the page with its shadow roots as elements; a page without any is returned as it is."""
    return _ShadowFlattener().run(html) if _SIGN in html else html


class _ShadowFlattener:
    def __init__(self) -> None:
        self.roots: list[bool] = []  # for each open template, whether it is a shadow root

    def run(self, html: str) -> str:
        return _TOKEN.sub(self._replace, html)

    def _replace(self, found: re.Match[str]) -> str:
        end, attributes = found[2], found[3]
        if attributes is None:
            return found[0]
        if end:
            return "</shadow-root>" if self.roots and self.roots.pop() else found[0]
        self.roots.append(_SIGN in attributes.lower())
        return "<shadow-root>" if self.roots[-1] else found[0]
