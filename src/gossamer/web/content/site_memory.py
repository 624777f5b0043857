"""SiteMemory: the blocks that recur on the pages of a host. `recurring` learns and uses it."""

from msgspec import Struct


class SiteMemory(Struct, frozen=True):
    keys: frozenset[int] = frozenset()  # of the blocks
