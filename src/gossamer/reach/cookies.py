"""Cookies for the length of one visit: many sites set one and redirect to see whether it comes back.

A cookie goes back to the host that set it and to no other, whatever `Domain` says; a secure one only over
https.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gossamer.web.url import Url

MOST: Final = 50
LONGEST: Final = 4096
PAIR: Final = re.compile(
    r"\s*+([!#$%&'*+.^_`|~0-9A-Za-z-]++)\s*+=\s*+([\x21-\x3a\x3c-\x7e\x80-\xff ]*+)(?:;|$)"
)
ENDED: Final = re.compile(r";\s*max-age\s*=\s*(?:0|-\d+)\s*(?:;|$)", re.IGNORECASE)
SECURE: Final = re.compile(r";\s*secure\s*(?:;|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cookie:
    host: str
    name: str
    value: str
    secure: bool


class Cookies:
    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Cookie] = {}

    @property
    def state(self) -> frozenset[Cookie]:
        return frozenset(self._kept.values())

    def keep(self, url: Url, fields: Iterable[str]) -> None:
        """What `Set-Cookie` fields of an answer from `url` say."""
        for field in fields:
            pair = PAIR.match(field) if len(field) <= LONGEST else None
            if pair is None:
                continue
            self._kept.pop((url.host, pair[1]), None)
            if not ENDED.search(field) and len(self._kept) < MOST:
                secure = SECURE.search(field) is not None
                self._kept[url.host, pair[1]] = Cookie(url.host, pair[1], pair[2].strip(), secure)

    def header(self, url: Url) -> str:
        """The value of `Cookie` for a request to `url`; empty for none."""
        return "; ".join(
            f"{cookie.name}={cookie.value}"
            for cookie in self._kept.values()
            if cookie.host == url.host and (url.scheme == "https" or not cookie.secure)
        )
