"""Known URLs: remembers which URLs were written, to spare the database.

A page links to a hundred URLs, of which one is new. Only a hash of 64 bits is kept of each. If a URL is
forgotten, the database is asked again, which never takes a URL twice.
"""

from collections.abc import Iterable
from typing import Final

MAX_KNOWN: Final = 300_000  # in one generation: 25 MB


class KnownUrls:
    """Two generations: a full young one becomes the old one, and the old one is forgotten."""

    def __init__(self, most: int = MAX_KNOWN) -> None:
        self._most = most
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, key: int) -> bool:
        return key in self._young or key in self._old

    def unknown(self, keys: set[int]) -> set[int]:
        """The keys that are not known; for most pages there are none."""
        return keys.difference(self._young).difference(self._old)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def add(self, keys: Iterable[int]) -> None:
        self._young.update(keys)
        if len(self._young) > self._most:
            self._old, self._young = self._young, set()
