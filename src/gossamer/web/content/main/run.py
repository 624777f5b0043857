"""The candidate by density: the run of neighbouring blocks with the most sentences in it."""

from typing import Final

from gossamer.web.content.main.blocks import HEADINGS, PageBlocks, TextBlock

_MAX_WORTH: Final = 400
_MAX_LINKED: Final = 0.5  # of a block inside the run
_COSTS: Final = {"p": 24.0, "li": 24.0, "td": 9.0, "th": 9.0, "pre": 9.0, "code": 9.0}


def densest_run(page: PageBlocks) -> list[bool]:
    """Which blocks are content."""
    best = total = 0.0
    begin = found = behind = 0
    for at, block in enumerate(page.blocks):
        total += _worth(block)
        if total <= 0:
            total, begin = 0.0, at + 1
        elif total > best:
            best, found, behind = total, begin, at + 1
    return [found <= at < behind and block.linked <= _MAX_LINKED for at, block in enumerate(page.blocks)]


def _worth(block: TextBlock) -> float:
    if block.sentence:
        return min(block.said, _MAX_WORTH)
    if block.tag in HEADINGS:
        return -18.0
    return -_COSTS.get(block.tag, 60 * (1 + block.linked)) if block.linked < 0.5 else -60 * (1 + block.linked)
