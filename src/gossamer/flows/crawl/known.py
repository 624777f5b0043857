"""Known URLs: what a crawl has written down already, remembered so that the database is not asked for it.

A page links to a hundred URLs of which one is new. Only a hash of each is kept, 64 bits, with a seed of this
process; what is forgotten is asked of the database again, which never takes a URL twice.
"""

from collections.abc import Iterable
from typing import Final

MOST: Final = 300_000  # of a generation: 25 MB


class Known:
    """Two generations: when the young one is full it becomes the old one, and the old one is forgotten."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, key: int) -> bool:
        return key in self._young or key in self._old

    def unknown(self, keys: set[int]) -> set[int]:
        """Those that are not known, which of most pages are none."""
        return keys.difference(self._young).difference(self._old)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def add(self, keys: Iterable[int]) -> None:
        self._young.update(keys)
        if len(self._young) > self._most:
            self._old, self._young = self._young, set()
