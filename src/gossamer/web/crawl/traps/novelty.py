"""What a page adds to the pages of its host that were seen before."""

import re
from enum import IntEnum
from typing import Final

READ_BYTES: Final = 200_000
MAX_VALUE: Final = 500
_VALUE: Final = re.compile(rb"""["']?([^"'\s>]*)""")
_DRAWN: Final = re.compile(
    rb"=[0-9A-Za-z_~-]{16,}|;(?:jsessionid|phpsessid|sid)=[^?/;]*|\(S\([^()]*\)\)", re.I
)


class Novelty(IntEnum):
    NEW = 0
    NEAR = 1  # nearly the text of another page
    EXACT = 2  # the same text, but pictures or links that no copy had
    COPY = 3  # the same text, pictures and links

    @property
    def adds_nothing(self) -> bool:
        return self is not Novelty.NEW


def links_of(body: bytes) -> int:
    """Identifies the links of a page as they are written, without what looks like session ids."""
    return hash(_DRAWN.sub(b"", b"\n".join(_values(body, b"href="))))


def pictures_of(body: bytes) -> int:
    """Identifies the pictures of a page: two pages of a gallery may have the same text."""
    return hash(b"\n".join([each.partition(b"?")[0] for each in _values(body, b"src=")]))


def _values(body: bytes, name: bytes) -> list[bytes]:
    """The values of an attribute, in the spelling that nearly all pages use."""
    pieces = body[:READ_BYTES].split(name)[1:]
    return [found[1] for each in pieces if (found := _VALUE.match(each[:MAX_VALUE])) is not None]
