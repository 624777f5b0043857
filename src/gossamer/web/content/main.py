"""Main content: find the part of a page that is its content.

Boilerplate by name or role is set aside first. Every element is then weighed by the prose that is left below
it: text in sentences, not in links. From the body the search descends into the child that holds nearly all of
the prose, until no child does. A child whose name says that it is the article needs a smaller share. In the
chosen part, lists of links and similar blocks are removed too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from gossamer.web.content.boilerplate import (
    article_rank,
    boilerplate_rank,
    has_boilerplate_role,
    is_note,
    is_part_of_article,
)
from gossamer.web.html.tree import BLOCKS, Element, Tree
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
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_SENTENCE: Final = re.compile("[,.;:!?\u060c\u3001\u3002\uff01\uff0c\uff1b\uff1f]")  # also Arabic and Chinese
_IDEOGRAPH: Final = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_IDEOGRAPH_WEIGHT: Final = 2.5  # one character says as much as this many letters
_NAMED_BY_ID: Final = tags("div aside ul ol form header footer table center")  # elsewhere it is an anchor
_STRUCTURE: Final = frozenset(("html", "body", "main", "article"))
_MIN_NAMED_SHARE: Final = 0.55  # of the prose, to descend into an element that is named as the article
_MIN_SHARE: Final = 0.85  # to descend into any other element
_MAX_LEAD_SHARE: Final = 0.03  # of the prose before it, which is left out
_MAX_LEAD_CHARS: Final = 60  # of the prose before it
_MAY_BE_ROOT: Final = tags("article main section div td tr tbody table center form body fieldset header")


@dataclass(slots=True)
class Content:
    root: Element
    left_out: set[int] = field(default_factory=set)  # ids of elements below the root that are not content
    heading: Element | None = None  # the title of the page, if it is outside the root
    fallback: bool = False  # the content was too short, so this is the whole page


def whole_page(tree: Tree) -> Content:
    return Content(tree.body)


def find_content(tree: Tree, name: str = "") -> Content:
    """Find the content of a page; `name` is its title, with or without the name of the site."""
    _weigh(tree)
    left_out = _set_aside(tree.body)
    content = Content(_first_of_many(_descend(tree.body, left_out), left_out, name), left_out)
    _leave_out_links(content)
    _leave_out_notes(content)
    content.heading = _heading_before(tree, content)
    return content


def _weigh(tree: Tree) -> None:
    """Set the amount of prose in every element."""
    for leaf in _leaves(tree.body):
        leaf.prose = _weight(leaf)
    for element in reversed(tree.order):
        if element.prose and element.parent is not None:
            element.parent.prose += element.prose


def _set_aside(body: Element) -> set[int]:
    """Return the ids of boilerplate elements, whose text no longer counts as prose."""
    found: set[int] = set()
    waiting = [body]
    while waiting:
        for element in waiting.pop().elements:
            if element.tag not in _STRUCTURE and _is_boilerplate(element, element.prose, body.prose):
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


def _is_boilerplate(element: Element, held: float, all_prose: float) -> bool:
    if element.attributes and is_part_of_article(element.hints, element.get("role")):
        return False
    if has_boilerplate_role(element.tag, element.attributes.get("role") or ""):
        sure = 1 if element.tag in ("aside", "form", "menu") else 2
    elif element.attributes:
        sure = _boilerplate_rank(element)
    else:
        return False
    if sure == 2:
        return all_prose - held >= MIN_PROSE_CHARS or held < MIN_PROSE_CHARS
    return sure == 1 and (held < all_prose * 0.3 or held < 40)


def _boilerplate_rank(element: Element) -> int:
    tag = element.tag
    if tag in _UNJUDGED or tag == "h1" or element.attributes.get("itemprop") == "articleBody":
        return 0
    if tag not in BLOCKS or tag == "p":
        said = boilerplate_rank(element.get("class"))
        return said if element.text < _MAX_ASIDE_CHARS * said else 0
    return boilerplate_rank(element.hints if tag in _NAMED_BY_ID else element.get("class"))


def _leaves(body: Element) -> Iterator[Element]:
    """Yield elements without blocks inside, and elements with text of their own beside their blocks."""
    waiting = [body]
    while waiting:
        element = waiting.pop()
        if not element.blocks:
            if element.text:
                yield element
            continue
        own = False
        for child in element.children:
            if isinstance(child, str):
                own = own or len(child) > 40
            elif child.tag in BLOCKS or child.blocks:
                waiting.append(child)
            else:
                own = own or child.text > 40
        if own:
            yield element


def _weight(leaf: Element) -> float:
    text, linked = _own_text(leaf) if leaf.blocks else (leaf.text, leaf.linked)
    if leaf.tag in _HEADINGS or linked * 2 > text:
        return 0
    if leaf.tag == "pre":
        return text * 0.7
    pieces = list(leaf.texts())
    dense = _IDEOGRAPH_WEIGHT if any(_IDEOGRAPH.search(piece) for piece in pieces) else 1
    if text * dense < 25:
        return 0
    prose = (text - linked) * dense
    if text * dense < 80 and leaf.tag != "p":
        return prose * 0.3
    if not any(_SENTENCE.search(piece) for piece in pieces):
        return prose * 0.3
    return prose if leaf.tag in ("p", "blockquote") else prose * 0.9


def _own_text(element: Element) -> tuple[int, int]:
    text = linked = 0
    for child in element.children:
        if isinstance(child, str):
            text += len(child)
        elif child.tag not in BLOCKS and not child.blocks:
            text += child.text
            linked += child.linked
    return text, linked


def _descend(body: Element, left_out: set[int]) -> Element:
    at = body
    while True:
        best = max(at.elements, key=lambda child: child.prose, default=None)
        if best is None or best.tag not in _MAY_BE_ROOT or not best.prose:
            return at
        if not _is_the_rest_beside(at, best):
            return _below(at, left_out) or at
        at = best


def _is_the_rest_beside(at: Element, best: Element) -> bool:
    here = at.prose
    share = best.prose / here if here else 0
    named = _article_rank(best)
    if _article_rank(at) == 3:
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
    if _article_rank(at) == 3 or not here:
        return None
    for element in _walk_kept(at, left_out):
        if element is not at and _article_rank(element) >= 2 and element.prose >= here * _MIN_NAMED_SHARE:
            return element
    return None


def _walk_kept(root: Element, left_out: set[int]) -> Iterator[Element]:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += [child for child in element.elements[::-1] if id(child) not in left_out]


def _first_of_many(root: Element, left_out: set[int], name: str) -> Element:
    """Return the first of several articles, if the page is named after it (infinite scrolling)."""
    articles = [
        one for one in _walk_kept(root, left_out) if one.tag == "article" and one.prose > _MIN_ARTICLE_CHARS
    ]
    if len(articles) < 2 or not name or articles[0] is root:
        return root
    heading = articles[0].find("h1") or articles[0].find("h2")
    title = heading.plain() if heading else ""
    said, called = title.casefold(), name.casefold()
    return articles[0] if said and called and (said in called or called in said) else root


def _article_rank(element: Element) -> int:
    if element.get("itemprop") == "articleBody":
        return 3
    named = article_rank(element.hints) if element.attributes else 0
    if named < 2 and (element.tag in ("article", "main") or element.get("role") in ("main", "article")):
        return 2
    return named


def _leave_out_links(content: Content) -> None:
    """Leave out blocks of links, unless the page itself is one."""
    root = content.root
    if root.linked * 2 > root.text:
        return
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        before: Element | None = None
        for element in parent.elements:
            if id(element) not in content.left_out:
                if _is_link_list(element) and not _is_announced(before):
                    content.left_out.add(id(element))
                elif element.blocks:
                    waiting.append(element)
            before = element
        _leave_out_headings(parent, content)


def _is_link_list(element: Element) -> bool:
    if (
        element.tag not in ("ul", "ol", "div", "section", "table", "dl")
        or element.linked <= element.text * 0.7
    ):
        return False
    return sum(1 for one in element.walk() if one.tag == "a" and one.text) >= 3


def _is_announced(before: Element | None) -> bool:
    """Whether the paragraph before a list introduces it, such as `See these:`."""
    return before is not None and before.tag == "p" and before.plain().endswith(":")


def _leave_out_headings(parent: Element, content: Content) -> None:
    """Leave out headings without any content left below them."""
    heading: Element | None = None
    emptied = False
    for element in [*parent.elements, None]:
        if element is not None and id(element) in content.left_out:
            emptied = emptied or element.tag in BLOCKS
        elif element is None or element.tag in _HEADINGS:
            if heading is not None and emptied and heading.tag != "h1":
                content.left_out.add(id(heading))
            heading, emptied = element, False
        elif element.text or element.find("img"):
            heading = None


def _leave_out_notes(content: Content) -> None:
    """Leave out short lines about the page, and lines that repeat."""
    seen: dict[str, list[int]] = {}
    for leaf in _leaves(content.root):
        short = leaf.text < _MAX_NOTE_CHARS and not leaf.blocks and leaf is not content.root
        if short and leaf.tag not in _UNJUDGED and id(leaf) not in content.left_out:
            line = leaf.plain()
            if is_note(line):
                content.left_out.add(id(leaf))
            elif leaf.tag == "div":
                seen.setdefault(line, []).append(id(leaf))
    for again in seen.values():
        if len(again) > _MAX_REPEATS:
            content.left_out.update(again)


def _heading_before(tree: Tree, content: Content) -> Element | None:
    headings = [one for one in tree.order if one.tag == "h1" and one.text]
    if len(headings) != 1 or any(above is content.root for above in headings[0].above()):
        return None
    return headings[0]
