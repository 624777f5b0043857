"""The candidate by names: a walk from the body down to the element that holds the content.

Boilerplate by name or role is set aside first. Every element is then weighed by the prose that is left below
it: text in sentences, not in links. From the body the walk descends into the child that holds nearly all of
the prose, until no child does. A child whose name says that it is the article needs a smaller share. In the
chosen element, lists of links and similar blocks are left out too.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from gossamer.web.content.main.blocks import HEADINGS, PageBlocks, TextBlock
from gossamer.web.content.main.boilerplate import (
    boilerplate_rank,
    has_boilerplate_role,
    is_note,
    is_part_of_article,
)
from gossamer.web.content.main.names import rank_as_article
from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.html.vocabulary import tags

MIN_PROSE_CHARS: Final = 150  # of prose that must be left
_MAX_REPEATS: Final = 3  # of the same line
_MAX_NOTE_CHARS: Final = 90  # a longer line is not a note about the page
_MIN_ARTICLE_CHARS: Final = 800  # of prose in an article of its own
_MAX_ASIDE_CHARS: Final = 150  # a longer paragraph is not judged by its name
_UNJUDGED: Final = tags(
    "a abbr b br cite code em font i img kbd mark math picture pre q s samp small source strong sub sup "
    "table tbody td tfoot th thead tr u var"
)
_MIN_LINKS: Final = 3  # of a list of links
_MIN_BLOCK_CHARS: Final = 25  # of text that can be prose
_SENTENCE: Final = re.compile("[,.;:!?\u060c\u3001\u3002\uff01\uff0c\uff1b\uff1f]")  # also Arabic and Chinese
_NAMED_BY_ID: Final = tags("div aside ul ol form header footer table center")  # elsewhere it is an anchor
_STRUCTURE: Final = frozenset(("html", "body", "main", "article"))
_MIN_NAMED_SHARE: Final = 0.55  # of the prose, to descend into an element that is named as the article
_MIN_SHARE: Final = 0.85  # to descend into any other element
_MAX_LEAD_SHARE: Final = 0.03  # of the prose before it, which is left out
_MAX_LEAD_CHARS: Final = 60  # of the prose before it
_MAY_BE_ROOT: Final = tags("article main section div td tr tbody table center form body fieldset header")


class Walk(Struct):
    root: Element
    left_out: set[int]  # ids of elements below the root that are not content
    first_of_many: bool = False  # the page has more articles, which are not its content

    def kept(self, page: PageBlocks) -> list[bool]:
        """Which blocks are content."""
        root = self.root
        kept = [root.begin <= at < root.end for at in range(len(page.blocks))]
        for element in page.holders[1:] if self.left_out else ():
            if id(element) in self.left_out:
                kept[element.begin : element.end] = [False] * (element.end - element.begin)
        return kept


def walk(page: PageBlocks, name: str) -> Walk:
    """`name` is the title of the page, with or without the name of the site."""
    _weigh(page)
    body = page.tree.body
    left_out = _set_aside(body)
    place = _descend(body, left_out)
    first = _first_of_many(place, left_out, name)
    found = Walk(first or place, left_out, first is not None)
    _leave_out_links(found)
    _leave_out_notes(page, found)
    return found


def _weigh(page: PageBlocks) -> None:
    """Set the amount of prose in every element."""
    sums = [0.0]
    for block in page.blocks:
        sums.append(sums[-1] + _weight(block))
    for element in page.holders:
        element.prose = sums[element.end] - sums[element.begin]


def _weight(block: TextBlock) -> float:
    if block.tag in HEADINGS or block.linked > 0.5 or block.size < _MIN_BLOCK_CHARS:
        return 0.0
    if block.tag == "pre":
        return block.size * 0.7
    if (block.size < 80 and block.tag != "p") or not _SENTENCE.search(block.text):
        return block.said * 0.3
    return block.said if block.tag in ("p", "blockquote") else block.said * 0.9


def _set_aside(body: Element) -> set[int]:
    """Return the ids of boilerplate elements, whose text no longer counts as prose."""
    found: set[int] = set()
    waiting = [body]
    while waiting:
        for element in waiting.pop().children:
            if isinstance(element, str):
                continue
            if _may_be_boilerplate(element) and _is_boilerplate(element, element.prose, body.prose):
                found.add(id(element))
                for above in element.above() if element.prose else ():
                    above.prose -= element.prose
                element.prose = 0
            elif element.children and element.tag not in (
                "pre",
                "code",
            ):  # syntax highlighting uses such names
                waiting.append(element)
    return found


def _may_be_boilerplate(element: Element) -> bool:
    """Whether it has a role by its tag, or names that tell one."""
    if element.attributes:
        return element.tag not in _STRUCTURE
    return has_boilerplate_role(element.tag, "")


def _is_boilerplate(element: Element, held: float, all_prose: float) -> bool:
    tag, attributes = element.tag, element.attributes
    role = attributes.get("role") or ""
    if has_boilerplate_role(tag, role):
        sure = 1 if tag in ("aside", "form", "menu") else 2
    else:
        sure = _boilerplate_rank(element) if attributes else 0
    if not sure or (attributes and is_part_of_article(element.hints, role)):
        return False
    if sure == 2:
        return all_prose - held >= MIN_PROSE_CHARS or held < MIN_PROSE_CHARS
    return held < all_prose * 0.3 or held < 40


def _boilerplate_rank(element: Element) -> int:
    tag = element.tag
    if tag in _UNJUDGED or tag == "h1" or element.attributes.get("itemprop") == "articleBody":
        return 0
    if tag not in BLOCKS or tag == "p":
        said = boilerplate_rank(element.get("class"))
        return said if element.text < _MAX_ASIDE_CHARS * said else 0
    return boilerplate_rank(element.hints if tag in _NAMED_BY_ID else element.get("class"))


def _descend(body: Element, left_out: set[int]) -> Element:
    at = body
    while True:
        best = max(at.elements, key=lambda child: child.prose, default=None)
        if best is None or not best.prose or not (best.tag in _MAY_BE_ROOT or "-" in best.tag):
            return at
        if not _is_the_rest_beside(at, best):
            return _below(at, left_out) or at
        at = best


def _is_the_rest_beside(at: Element, best: Element) -> bool:
    here = at.prose
    share = best.prose / here if here else 0
    named = rank_as_article(best)
    if rank_as_article(at) == 3:
        return named == 3 and share >= _MIN_NAMED_SHARE
    if named >= 2:
        return share >= _MIN_NAMED_SHARE
    before = 0.0
    for child in at.elements:
        if child is best:
            break
        before += child.prose
    return share >= _MIN_SHARE and before <= min(here * _MAX_LEAD_SHARE, _MAX_LEAD_CHARS)


def _below(at: Element, left_out: set[int]) -> Element | None:
    """Return the body of an article below the children, if it holds enough prose."""
    here = at.prose
    if rank_as_article(at) == 3 or not here:
        return None
    for element in _walk_kept(at, left_out):
        if element is not at and rank_as_article(element) >= 2 and element.prose >= here * _MIN_NAMED_SHARE:
            return element
    return None


def _walk_kept(root: Element, left_out: set[int]) -> Iterator[Element]:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += [child for child in element.elements[::-1] if id(child) not in left_out]


def _first_of_many(root: Element, left_out: set[int], name: str) -> Element | None:
    """Return the first of several articles, if the page is named after it (infinite scrolling)."""
    articles = [
        one for one in _walk_kept(root, left_out) if one.tag == "article" and one.prose > _MIN_ARTICLE_CHARS
    ]
    if len(articles) < 2 or not name or articles[0] is root:
        return None
    heading = articles[0].find("h1") or articles[0].find("h2")
    title = heading.plain() if heading else ""
    said, called = title.casefold(), name.casefold()
    return articles[0] if said and called and (said in called or called in said) else None


def _leave_out_links(found: Walk) -> None:
    """Leave out blocks of links, unless the page itself is one."""
    root = found.root
    if root.linked * 2 > root.text:
        return
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        before: Element | None = None
        for element in parent.elements:
            if id(element) not in found.left_out:
                if _is_link_list(element) and not _is_announced(before) and not _is_stated(element, before):
                    found.left_out.add(id(element))
                elif element.blocks:
                    waiting.append(element)
            before = element
        _leave_out_headings(parent, found)


def _is_link_list(element: Element) -> bool:
    if (
        element.tag not in ("ul", "ol", "div", "section", "table", "dl")
        or element.linked <= element.text * 0.7
    ):
        return False
    links = (one for one in element.walk() if one.tag == "a" and one.text)
    return len(list(islice(links, _MIN_LINKS))) == _MIN_LINKS


def _is_announced(before: Element | None) -> bool:
    """Whether the paragraph before a list introduces it, such as `See these:`."""
    return before is not None and before.tag == "p" and before.plain().endswith(":")


def _is_stated(element: Element, before: Element | None) -> bool:
    """Whether a list of links stands below a heading or a paragraph of `<main>`, as part of its text."""
    if element.tag not in ("ul", "ol", "dl") or before is None or before.tag not in (*HEADINGS, "p"):
        return False
    return any(above.tag == "main" or above.get("role") == "main" for above in element.above())


def _leave_out_headings(parent: Element, found: Walk) -> None:
    """Leave out headings without any content left below them."""
    heading: Element | None = None
    emptied = False
    for element in [*parent.elements, None]:
        if element is not None and id(element) in found.left_out:
            emptied = emptied or element.tag in BLOCKS
        elif element is None or element.tag in HEADINGS:
            if heading is not None and emptied and heading.tag != "h1":
                found.left_out.add(id(heading))
            heading, emptied = element, False
        elif element.text or element.find("img"):
            heading = None


def _leave_out_notes(page: PageBlocks, found: Walk) -> None:
    """Leave out short lines about the page, and lines that repeat."""
    seen: dict[str, list[int]] = {}
    root = found.root
    for block in page.blocks[root.begin : root.end]:
        holder = block.holder
        short = block.size < _MAX_NOTE_CHARS and block.whole and holder is not root
        if short and block.tag not in _UNJUDGED and id(holder) not in found.left_out:
            if is_note(block.text):
                found.left_out.add(id(holder))
            elif block.tag == "div":
                seen.setdefault(block.text, []).append(id(holder))
    for again in seen.values():
        if len(again) > _MAX_REPEATS:
            found.left_out.update(again)
