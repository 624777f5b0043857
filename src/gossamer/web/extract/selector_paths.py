"""Selector paths: the position of an element as a CSS selector that finds it again."""

import re
from collections import Counter
from typing import Final

from selectolax.lexbor import LexborNode

_PLAIN: Final = re.compile(r"[A-Za-z][\w-]{0,60}")


class SelectorPaths:
    """The paths of one page, each computed once."""

    def __init__(self) -> None:
        self._steps: dict[int, str] = {}
        self._known: dict[int, str] = {}

    def of(self, node: LexborNode) -> str:
        """Return the path from the nearest element with a plain id, or from the root."""
        way: list[LexborNode] = []
        at: LexborNode | None = node
        while at is not None and at.mem_id not in self._known and (at.tag or "-")[0] != "-":
            way.append(at)
            at = at.parent
        above = self._known.get(at.mem_id, "") if at is not None else ""
        for one in reversed(way):
            name = one.attributes.get("id") or ""
            step = f"#{name}" if _PLAIN.fullmatch(name) else self._step(one)
            above = f"{above} > {step}" if above and not step.startswith("#") else step
            self._known[one.mem_id] = above
        return above

    def _step(self, node: LexborNode) -> str:
        if node.mem_id not in self._steps and node.parent is not None:
            self._count(node.parent)
        return self._steps.get(node.mem_id, node.tag or "")

    def _count(self, parent: LexborNode) -> None:
        children = [one for one in parent.iter() if one.tag]
        totals = Counter(one.tag for one in children)
        met: Counter[str] = Counter()
        for one in children:
            tag = one.tag or ""
            met[tag] += 1
            self._steps[one.mem_id] = tag if totals[tag] == 1 else f"{tag}:nth-of-type({met[tag]})"
