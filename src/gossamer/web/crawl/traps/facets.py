"""Facets: filters of a list that can be combined, so that a few dozen of them make millions of URLs.

Three parameters or more are facets if the same path is also linked to with fewer of them, and if none of
them has many values, as a parameter has that names a thing. Every such URL costs; each page of them that
leads to a page elsewhere that nobody knew pays for more.
"""

from collections.abc import Iterable
from typing import Final

from gossamer.web.crawl.traps.url_pattern import UrlPattern

LEAST: Final = 3  # parameters
START: Final = 500
MOST: Final = 2_000
GAIN: Final = 20
MAX_VALUES: Final = 100  # of a facet
MAX_PATHS: Final = 50  # with facets, of a host
_PAGING: Final = frozenset(
    ("page", "paged", "p", "pg", "start", "offset", "from", "per_page", "perpage", "limit")
)


class PathFacets:
    """The parameters of one path."""

    __slots__ = ("fewest", "level", "values")

    def __init__(self, level: int = START) -> None:
        self.level = level
        self.fewest = 99
        self.values: dict[str, set[int]] = {}

    def add(self, pairs: list[tuple[str, str]]) -> None:
        self.fewest = min(self.fewest, len({name for name, _ in pairs if name not in _PAGING}))
        for name, value in pairs:
            known = self.values.setdefault(name, set())
            if len(known) <= MAX_VALUES:
                known.add(hash(value))

    def spend(self, names: int) -> bool:
        """Whether one more combination of so many facets may be visited."""
        if names < LEAST or self.fewest >= names or self._names_things():
            return True
        self.level -= 1
        return self.level >= 0

    def earn(self) -> None:
        self.level = min(MOST, max(0, self.level) + GAIN)

    def _names_things(self) -> bool:
        return any(len(values) > MAX_VALUES for name, values in self.values.items() if name not in _PAGING)


class Facets:
    """The paths of a host that have parameters."""

    def __init__(self) -> None:
        self.paths: dict[str, PathFacets] = {}

    def admits(self, path: str, pairs: list[tuple[str, str]]) -> bool:
        here = self.paths.get(path)
        if here is None:
            if len(self.paths) >= MAX_PATHS:
                return True
            here = self.paths[path] = PathFacets()
        here.add(pairs)
        return here.spend(len({name for name, _ in pairs if name not in _PAGING}))

    def earn(self, path: str, found: Iterable[str]) -> None:
        """A page of this path leads to new URLs of these paths."""
        here = self.paths.get(path)
        if here is not None and any(other != path for other in found):
            here.earn()


def is_combined(pattern: UrlPattern) -> bool:
    return len(pattern.names) >= LEAST
