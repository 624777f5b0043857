"""Find the content of a page, block by block.

Three candidates judge every block by different evidence: names, votes of paragraphs, and density. A model of
the block's features decides, and what only one candidate keeps must be more likely. How far the candidates
agree, and how sure the model is, give the confidence in the result.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gossamer.web.content.content_warning import ContentWarning
from gossamer.web.content.main.blocks import HEADINGS, PageBlocks
from gossamer.web.content.main.content import LOW_CONFIDENCE, MIN_KEPT, Content
from gossamer.web.content.main.features import Candidates, ContentHints, features_of
from gossamer.web.content.main.mask import leave_out, root_of
from gossamer.web.content.main.model import BlockModel, shipped_model
from gossamer.web.content.main.names import name_elements
from gossamer.web.content.main.run import densest_run
from gossamer.web.content.main.votes import elect
from gossamer.web.content.main.walk import Walk, walk
from gossamer.web.content.recurring import leave_out_recurring
from gossamer.web.content.site_memory import SiteMemory
from gossamer.web.html.elements.element import Element
from gossamer.web.html.tree import Tree

_MIN_BLOCKS: Final = 6  # with fewer, there is little to choose, and short ones count
_MIN_CHANCE: Final = 0.5
_MIN_CHANCE_ALONE: Final = 0.7  # of a block that fewer than two candidates keep
_MIN_AGREEMENT: Final = 0.5  # of the candidates, for their votes to count


class PageStudy(Struct, frozen=True):
    """What is known about the blocks of a page before any is decided."""

    page: PageBlocks
    walk: Walk
    candidates: Candidates
    rows: list[list[float] | None]  # the features of every block


def study(tree: Tree, title: str, facts: ContentHints) -> PageStudy:
    page = PageBlocks(tree)
    found = walk(page, title)
    names = name_elements(page)
    candidates = Candidates(found.kept(page), elect(page, names), densest_run(page))
    return PageStudy(page, found, candidates, features_of(page, candidates, names, facts))


def find_content(
    tree: Tree,
    title: str,
    facts: ContentHints,
    model: BlockModel | None = None,
    memory: SiteMemory | None = None,
) -> Content:
    """Find the content of a page; `title` may end in the name of the site. What `memory` takes away does not
    change the confidence, which is about the choice before it."""
    studied = study(tree, title, facts)
    page, found = studied.page, studied.walk
    if len(page.blocks) < _MIN_BLOCKS or _is_listing(found):
        return _by_walk(page, found)
    chances = (model or shipped_model()).chances(studied.rows)
    agreement = _agreement(page, studied.candidates)
    chosen = _decide(studied, chances, agreement)
    if not any(chosen):
        return _by_walk(page, found)
    kept = leave_out_recurring(page, chosen, memory) if memory is not None else chosen
    root = root_of(page, kept)
    held = {id(element) for element in page.holders}
    content = Content(root, {one for one in found.left_out if one not in held} | leave_out(page, root, kept))
    content.heading = _heading_before(tree, root)
    content.size = _size(page, kept)
    share = _share(page, chosen)
    content.confidence = 0.7 * _expected(page, chosen, chances) + 0.15 * agreement + 0.15 * share
    content.warning = _doubt(content.confidence, share)
    return content


def _by_walk(page: PageBlocks, found: Walk) -> Content:
    """The content of a list of links, or of a page with next to no text: it has little to be judged by."""
    content = Content(found.root, found.left_out, _heading_before(page.tree, found.root))
    kept = found.kept(page)
    content.size = _size(page, kept)
    share = _share(page, kept)
    content.confidence = (found.root.text / page.tree.body.text + share) / 2 if found.root.text else 0.0
    content.warning = _doubt(content.confidence, share)
    return content


def _doubt(confidence: float, share: float) -> ContentWarning | None:
    if share < MIN_KEPT:
        return ContentWarning.PARTIAL
    return ContentWarning.UNCERTAIN if confidence < LOW_CONFIDENCE else None


def _size(page: PageBlocks, kept: Sequence[bool]) -> int:
    return sum([len(block.text) for block, keep in zip(page.blocks, kept, strict=True) if keep])


def _share(page: PageBlocks, kept: Sequence[bool]) -> float:
    """The share of the page's sentences that are kept."""
    judged = zip(page.blocks, kept, strict=True)
    said = sum(block.said for block, keep in judged if keep and block.sentence)
    return said / page.all_sentences if page.all_sentences else 1.0


def _is_listing(found: Walk) -> bool:
    """Whether most of the page's text is in links: a list of other pages, which has its own structure."""
    return found.root.linked * 2 > found.root.text


def _decide(studied: PageStudy, chances: Sequence[float], agreement: float) -> list[bool]:
    candidates, root = studied.candidates, studied.walk.root
    agreed = agreement >= _MIN_AGREEMENT
    judged = zip(chances, candidates.walk, candidates.votes, candidates.run, strict=True)
    kept = [
        chance >= (_MIN_CHANCE_ALONE if agreed and by_walk + by_votes + by_run < 2 else _MIN_CHANCE)
        for chance, by_walk, by_votes, by_run in judged
    ]
    _decide_tables(studied.page, chances, kept)
    _decide_followers(studied.page, kept)
    if studied.walk.first_of_many:
        return [keep and root.begin <= at < root.end for at, keep in enumerate(kept)]
    return kept


def _decide_tables(page: PageBlocks, chances: Sequence[float], kept: list[bool]) -> None:
    """Keep or drop the cells of a table together, by their mean chance."""
    tables: dict[Element, list[int]] = {}
    for at, block in enumerate(page.blocks):
        if block.tag in ("td", "th") and block.whole:
            table = next((above for above in block.holder.above() if above.tag == "table"), None)
            if table is not None:
                tables.setdefault(table, []).append(at)
    for cells in tables.values():
        if len(cells) >= 4:
            keep = sum(chances[at] for at in cells) >= _MIN_CHANCE * len(cells)
            for at in cells:
                kept[at] = keep


def _decide_followers(page: PageBlocks, kept: list[bool]) -> None:
    """Headings and captions stay if what they belong to stays."""
    keep_next = False
    for at in range(len(kept) - 1, -1, -1):
        tag = page.blocks[at].tag
        if tag in HEADINGS:
            kept[at] = keep_next
        elif tag == "figcaption":
            kept[at] = keep_next or (at > 0 and kept[at - 1])
        else:
            keep_next = kept[at]


def _heading_before(tree: Tree, root: Element) -> Element | None:
    headings = [one for one in tree.headings if one.tag == "h1"]
    if len(headings) != 1 or any(above is root for above in headings[0].above()):
        return None
    return headings[0]


def _agreement(page: PageBlocks, candidates: Candidates) -> float:
    """Mean overlap of every two candidates, in characters."""
    sizes = [block.size for block in page.blocks]
    pairs = (
        (candidates.walk, candidates.votes),
        (candidates.walk, candidates.run),
        (candidates.votes, candidates.run),
    )
    return sum(_overlap(sizes, one, other) for one, other in pairs) / len(pairs)


def _overlap(sizes: Sequence[float], one: Sequence[bool], other: Sequence[bool]) -> float:
    total = common = 0.0
    for size, here, there in zip(sizes, one, other, strict=True):
        total += size * (here + there)
        common += size * (here and there)
    return 2 * common / total if total else 0.0


def _expected(page: PageBlocks, kept: Sequence[bool], chances: Sequence[float]) -> float:
    """The F1 that the model expects of its own choice."""
    right = wrong = missed = 0.0
    for block, keep, chance in zip(page.blocks, kept, chances, strict=True):
        weight = block.size**0.5
        if keep:
            right += chance * weight
            wrong += (1 - chance) * weight
        else:
            missed += chance * weight
    return 2 * right / (2 * right + wrong + missed) if right else 0.0
