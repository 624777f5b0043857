"""Recurring blocks: those that stand on many pages of a host, and so are the content of none of them.

A page alone does not tell that its paragraph about cookies stands on every page of the site; a crawl does.
Blocks are compared by their text, numbers included, because pages of statistics differ by them alone. Pages
that are mostly alike count as one, so that five versions of a page do not make its text boilerplate. Cells,
code and headings are never remembered: in documentation they repeat, and are content.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from gossamer.web.content.main.blocks import HEADINGS, PageBlocks, TextBlock
from gossamer.web.content.site_memory import SiteMemory
from gossamer.web.html.tree import parse, release
from gossamer.web.html.vocabulary import tags

MIN_PAGES: Final = 4  # with a block, for it to be boilerplate,
MIN_SHARE: Final = 0.3  # and of all pages
MIN_LEFT: Final = 0.5  # of a page's text; if less would be left, nothing is taken away
MAX_REMEMBERED: Final = 500  # blocks of a host
MAX_SKETCHED: Final = 4_000  # blocks of a page
_MIN_CHARS: Final = 30  # of a block
_MAX_ALIKE: Final = 0.5  # of the text of a page that is on another one; with more, the two are alike
_CONTENT: Final = HEADINGS | tags("td th pre code dt caption figcaption")

BlockSketch = dict[int, int]  # the key of every block of a page, with its length


def sketch(html: str) -> BlockSketch:
    """Sketch a page by its blocks, to be compared with other pages."""
    tree = parse(html)
    blocks = PageBlocks(tree).blocks[:MAX_SKETCHED]
    found = {_key(block): int(block.size) for block in blocks if _is_comparable(block)}
    release(tree)
    return found


def learn(sketches: Sequence[BlockSketch]) -> SiteMemory:
    """Learn from pages of one host."""
    pages = _distinct([page for page in sketches if page])
    counts = Counter(key for page in pages for key in page)
    least = max(MIN_PAGES, MIN_SHARE * len(pages))
    return SiteMemory(frozenset(key for key, count in counts.most_common(MAX_REMEMBERED) if count >= least))


def leave_out_recurring(page: PageBlocks, kept: list[bool], memory: SiteMemory) -> list[bool]:
    """Leave recurring blocks out of those that are kept, unless they are most of the text."""
    keys = memory.keys
    less = [
        keep and not (_is_comparable(block) and _key(block) in keys)
        for block, keep in zip(page.blocks, kept, strict=True)
    ]
    if less == kept or _size(page, less) < MIN_LEFT * _size(page, kept):
        return kept
    _leave_out_headings(page, kept, less)
    return less


def _distinct(sketches: Sequence[BlockSketch]) -> list[BlockSketch]:
    """Join pages that are mostly alike. What most pages have does not make them alike."""
    counts = Counter(key for page in sketches for key in page)
    common = {key for key, count in counts.items() if 2 * count > len(sketches)}
    distinct: list[BlockSketch] = []
    for page in sketches:
        own = page.keys() - common
        size = sum(page[key] for key in own)
        alike = next((one for one in distinct if size and _shared(page, own, one) > _MAX_ALIKE * size), None)
        if alike is None:
            distinct.append(dict(page))
        else:
            alike.update(page)
    return distinct


def _leave_out_headings(page: PageBlocks, kept: Sequence[bool], less: list[bool]) -> None:
    """Leave out headings that had text below them, and have none left."""
    has_text = had_text = False
    behind = ""  # the kept heading behind
    for at in range(len(less) - 1, -1, -1):
        tag = page.blocks[at].tag
        if tag in HEADINGS:
            less[at] = less[at] and (has_text or not had_text or behind > tag)
            behind = tag if less[at] else behind
            has_text = had_text = False
        else:
            has_text, had_text = has_text or less[at], had_text or kept[at]


def _size(page: PageBlocks, kept: Sequence[bool]) -> float:
    return sum(block.size for block, keep in zip(page.blocks, kept, strict=True) if keep)


def _shared(page: BlockSketch, own: set[int], other: BlockSketch) -> int:
    """Characters of a page's own blocks that another page has too."""
    return sum(page[key] for key in own & other.keys())


def _is_comparable(block: TextBlock) -> bool:
    return block.size >= _MIN_CHARS and block.tag not in _CONTENT


def _key(block: TextBlock) -> int:
    text = " ".join(block.text.casefold().split())
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())
