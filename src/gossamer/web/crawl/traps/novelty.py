"""What a page adds to the pages of its host that were seen before."""

import re
from enum import IntEnum
from typing import Final

READ_BYTES: Final = 300_000
_LINKS: Final = re.compile(rb"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.I)
_PICTURES: Final = re.compile(rb"""src=["']?([^"'\s>?]*)""")
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
    found = [_DRAWN.sub(b"", b"".join(each)) for each in _LINKS.findall(body[:READ_BYTES])]
    return hash(b"\n".join(found))


def pictures_of(body: bytes) -> int:
    """Identifies the pictures of a page: two pages of a gallery may have the same text."""
    return hash(b"\n".join(_PICTURES.findall(body[:READ_BYTES])))
