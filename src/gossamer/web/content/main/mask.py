"""From blocks to elements: the root that contains the kept blocks, and what is left out of it."""

from typing import Final

from gossamer.web.content.main.blocks import PageBlocks, TextBlock
from gossamer.web.html.elements.element import Element

_PARTS: Final = frozenset(("li", "dt", "dd", "tr", "thead", "tbody", "tfoot"))  # of a list or table


def root_of(page: PageBlocks, kept: list[bool]) -> Element:
    """The lowest element that contains all kept blocks."""
    first = kept.index(True)
    last = len(kept) - 1 - kept[::-1].index(True)
    element = page.blocks[first].holder
    while element.parent is not None and (element.end <= last or element.tag in _PARTS):
        element = element.parent
    return element


def leave_out(page: PageBlocks, root: Element, kept: list[bool]) -> set[int]:
    """Return the ids of the largest elements without kept blocks. Elements without text stay."""
    sums = [0]
    for keep in kept:
        sums.append(sums[-1] + keep)
    left_out: set[int] = set()
    behind = root.begin
    for element in page.holders:
        if element.begin < behind or element.end > root.end or element is root:
            continue
        if sums[element.end] == sums[element.begin]:
            left_out.add(id(element))
            behind = element.end
    _leave_out_runs(page, root, kept, left_out)
    return left_out


def _leave_out_runs(page: PageBlocks, root: Element, kept: list[bool], left_out: set[int]) -> None:
    """Leave out text that stands beside kept blocks and has no element of its own: it gets one."""
    for at in range(root.end - 1, root.begin - 1, -1):  # the last first, as positions shift behind a change
        block = page.blocks[at]
        if not kept[at] and not block.whole and not _is_inside(block, left_out):
            left_out.add(id(_wrap(block)))


def _is_inside(block: TextBlock, left_out: set[int]) -> bool:
    return id(block.holder) in left_out or any(id(above) in left_out for above in block.holder.above())


def _wrap(block: TextBlock) -> Element:
    holder = block.holder
    wrapper = Element("span", {}, holder)
    wrapper.children = holder.children[block.at : block.behind]
    for child in wrapper.children:
        if isinstance(child, Element):
            child.parent = wrapper
    wrapper.text = len(block.text)
    holder.children[block.at : block.behind] = [wrapper]
    return wrapper
