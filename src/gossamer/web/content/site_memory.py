"""SiteMemory: the blocks that recur on the pages of a host. `recurring` learns and uses it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SiteMemory:
    keys: frozenset[int] = frozenset()  # of the blocks
