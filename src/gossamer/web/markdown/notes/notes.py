"""Notes: find the footnotes of a page, so that marks become `[^1]` and notes `[^1]: …`.

A mark links to an element. The note is that element, or the block around it; where several notes share a
block, each goes on until the next begins. Notes beside the text, in the line after their
mark, have no link. Numbers that are only raised are matched to paragraphs that begin with the same number.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct, field

from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.markdown.notes.holders import holder_of, split_notes
from gossamer.web.markdown.notes.marks import (
    MAX_MARK_CHARS,
    fragment_of,
    ids_around,
    is_back_link,
    is_declared,
    is_mark,
    label_of,
)

_MAX_NOTE_CHARS: Final = 8_000  # a longer block is a section of the page
_MAX_BESIDE: Final = 1_000
_MAX_BACK_LINKS: Final = 60  # of one note
_WORD: Final = re.compile(r"[a-zA-Z0-9-]+")
_BESIDE: Final = re.compile(
    r"(?:^|\s)(?:sidenote|side-note|marginnote|margin-note|modern-footnotes-footnote__note|footnoteContent"
    r"|footnote-inline-content|ltx_note_content|footnote__content|footnote)(?:$|\s)"
)
_AROUND_BESIDE: Final = re.compile(r"(?:^|[\s_-])(?:foot-?note|ltx_note|sidenote)", re.I)
_OF_NOTES: Final = re.compile(r"(?:^|[\s_-])(?:footnotes?|endnotes?|notes)(?:$|[\s_-])|footnotes", re.I)


class Note(Struct, frozen=True):
    label: str
    nodes: "list[Element | str]"


class Notes(Struct):
    marks: dict[int, str] = field(default_factory=dict)  # labels, by the id of the element that is a mark
    parts: "dict[int, list[Element | str | Note]]" = field(default_factory=dict)  # of blocks that hold notes
    by_label: dict[str, Note] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)  # labels of notes, and links back to the text


def notes_of(roots: list[Element]) -> Notes:
    """Find the notes that marks in these elements refer to, wherever on the page they are."""
    links: list[Element] = []
    raised: list[Element] = []
    beside: list[Element] = []
    for root in roots:
        for element in root.walk():
            tag = element.tag
            if tag == "a":
                if "#" in element.get("href") and is_mark(element):
                    links.append(element)
            elif tag == "sup":
                if element.text <= MAX_MARK_CHARS and element.find("a") is None:
                    raised.append(element)
            elif tag in ("span", "small", "aside") and _BESIDE.search(element.get("class")):
                beside.append(element)
    if not (links or raised or beside):
        return Notes()
    return _NoteFinder(roots).find(links, raised, beside)


class _NoteFinder:
    def __init__(self, roots: list[Element]) -> None:
        *_, top = (roots[-1], *roots[-1].above())
        self._page = list(top.walk())
        self._notes = Notes()
        self._number = 0
        self._named: dict[str, Element] = {}  # the first mark of each note, by what it links to
        self._around: set[str] = set()  # ids of marks, and of what is right around them

    def find(self, links: list[Element], raised: list[Element], beside: list[Element]) -> Notes:
        if links:
            self._link(_forward(links))
        for content in beside[:_MAX_BESIDE]:
            self._put_beside(content)
        if raised and not links:
            self._match_raised(raised)
        return self._notes

    # Notes that marks link to.

    def _link(self, links: list[Element]) -> None:
        self._around = {one for link in links for one in ids_around(link)}
        self._named = {fragment_of(link): link for link in reversed(links)}
        marked = {id(link) for link in links if not is_back_link(link, self._around)}
        by_holder: dict[int, tuple[Element, list[tuple[Element, str]]]] = {}
        for target, element in self._targets().items():
            holder = None if is_declared(element) and id(element) in marked else holder_of(element)
            if holder is not None:
                by_holder.setdefault(id(holder), (holder, []))[1].append((element, target))
        labels: dict[str, str] = {}
        for holder, found in by_holder.values():
            mixed = any(id(one) in marked for one in holder.walk())
            labels |= self._hold(holder, split_notes(holder, found, mixed=mixed))
        for link in links:
            if (label := labels.get(fragment_of(link))) is not None and id(link) not in self._notes.left_out:
                self._notes.marks[id(link)] = label

    def _targets(self) -> dict[str, Element]:
        """Return the elements that marks link to, by their names."""
        found: dict[str, Element] = {}
        for element in self._page:
            for name in ("id", "name") if element.attributes else ():
                target = element.attributes.get(name) or ""
                if target in self._named and (name == "id" or element.tag == "a"):
                    found.setdefault(target, element)
        if missing := self._named.keys() - found.keys():
            for element in self._page:  # a note without a name may link back: from `_ftn1` to `_ftnref1`
                to = fragment_of(element) if element.tag == "a" else ""
                if "ref" in to and (target := to.replace("ref", "")) in missing:
                    found.setdefault(target, element)
        return found

    def _hold(
        self, holder: Element, pieces: "Iterable[tuple[str | None, list[Element | str]]]"
    ) -> dict[str, str]:
        """Keep what a block is made of: notes, and what belongs to none; return their labels by target."""
        labels: dict[str, str] = {}
        parts: list[Element | str | Note] = []
        for target, nodes in pieces:
            said = label_of(self._named[target].plain()) if target is not None else ""
            if target is None or _length(nodes) > _MAX_NOTE_CHARS or not self._clean(nodes, said):
                parts += nodes
                continue
            labels[target] = self._free(said if _WORD.fullmatch(said) else "")
            parts.append(self._add(labels[target], nodes))
        if labels:
            self._notes.parts[id(holder)] = parts
        return labels

    def _add(self, label: str, nodes: "list[Element | str]") -> Note:
        note = self._notes.by_label[label] = Note(label, nodes)
        return note

    def _clean(self, nodes: "list[Element | str]", label: str) -> bool:
        """Leave out the label and the links back; return whether anything else is left."""
        words = ""
        for node in nodes:
            if isinstance(node, str):
                words += node
                continue
            dropped: set[int] = set()
            for element in node.walk():
                if element.tag == "a" and is_back_link(element, self._around):
                    dropped.add(id(_around_alone(element, node)))
                elif not words.strip() and _is_label(element, label):
                    dropped.add(id(element))
            if id(node) not in dropped:
                words += node.words_without(dropped)
            self._notes.left_out |= dropped
        return re.search(r"\w", words) is not None

    def _free(self, label: str) -> str:
        """Return the label, or the next number if it is empty or taken."""
        while not label or label in self._notes.by_label:
            self._number += 1
            label = str(self._number)
        return label

    # Notes beside the text.

    def _put_beside(self, content: Element) -> None:
        parent = content.parent
        if parent is None or not MAX_MARK_CHARS < content.text <= _MAX_NOTE_CHARS:
            return
        before = _marks_before(content, parent)
        if any(id(inside) in self._notes.marks for one in before for inside in one.walk()):
            self._notes.left_out.add(id(content))  # the note is on the page twice
            return
        wrapper = _wrapper_of(content)
        if wrapper is not None:
            before, mark = [], wrapper
        elif before:
            mark = content
        else:
            return
        said = "".join(label_of(one.plain()) for one in before) or label_of(mark.words_without({id(content)}))
        label = self._free(said if said.isdigit() else "")
        if self._clean(list(content.children), label):
            self._notes.left_out.update(id(one) for one in before)
            self._notes.marks[id(mark)] = label
            self._add(label, list(content.children))

    # Numbers that are only raised.

    def _match_raised(self, raised: list[Element]) -> None:
        notes = dict(self._raised_notes())
        places = {id(element): at for at, element in enumerate(self._page)}
        begun: set[str] = set()
        for mark in raised:
            label = label_of(mark.plain())
            found = notes.get(label)
            if found is None or mark.parent is None or places[id(mark)] >= places[id(found[0])]:
                continue
            if label not in begun:
                begun.add(label)
                self._begin_raised(label, found)
            if label in self._notes.by_label:
                self._notes.marks[id(mark)] = label

    def _begin_raised(self, label: str, found: "tuple[Element, list[Element | str]]") -> None:
        holder, nodes = found
        if self._clean(nodes, label):
            self._notes.parts[id(holder)] = [self._add(label, nodes)]

    def _raised_notes(self) -> "Iterator[tuple[str, tuple[Element, list[Element | str]]]]":
        """Yield blocks that begin with a raised number, and the items of a list of notes."""
        ruled = False
        for element in self._page:
            if element.tag == "hr":
                ruled = True
            elif element.tag in ("p", "li", "div") and not element.blocks and element.text > 2:
                first = _first_inside(element)
                if first is not None and (first.tag == "sup" or ruled):
                    label = label_of(first.plain())
                    if label.isdigit() or first.tag == "sup":
                        yield label, (element, list(element.children))
            elif element.tag == "ol" and _is_list_of_notes(element):
                start = element.get("start")
                number = int(start) if start.isdigit() and len(start) < 5 else 1
                for at, item in enumerate(one for one in element.elements if one.tag == "li"):
                    yield str(number + at), (item, list(item.children))


def _forward(links: list[Element]) -> list[Element]:
    """Return the links that lead to notes: of two that lead to each other, the first."""
    forward: list[Element] = []
    passed: set[str] = set()
    for link in links:
        if fragment_of(link) not in passed:
            forward.append(link)
            passed.update(ids_around(link))
    return forward


def _length(nodes: "list[Element | str]") -> int:
    return sum(len(node) if isinstance(node, str) else node.text for node in nodes)


def _around_alone(anchor: Element, top: Element) -> Element:
    """Return the largest element inside the note that shows nothing but this link."""
    element = anchor
    while element is not top and (above := element.parent) is not None and above.tag not in BLOCKS:
        if len(above.children) > _MAX_BACK_LINKS:
            return element
        rest = re.sub(r"[\W_]+", "", above.words_without({id(element)}))
        others = [one for one in above.walk() if one.tag == "a" and one is not anchor]
        if rest and not ("backlink" in above.get("class") or (others and len(rest) <= len(others))):
            return element
        element = above
    return element


def _is_label(element: Element, label: str) -> bool:
    if element.tag not in ("sup", "span", "strong", "b", "a", "em", "small") or element.text > MAX_MARK_CHARS:
        return False
    return bool(label) and label_of(element.plain()) == label


def _marks_before(content: Element, parent: Element) -> list[Element]:
    """Return the label, the switch and the raised number right before a note beside the text."""
    found: list[Element] = []
    at = next(at for at, one in enumerate(parent.children) if one is content)
    for node in reversed(parent.children[max(0, at - 5) : at]):
        if isinstance(node, str):
            if node.strip():
                break
        elif node.tag in ("label", "input", "sup", "a", "span") and node.text <= MAX_MARK_CHARS:
            found.append(node)
        else:
            break
    return found[::-1]


def _wrapper_of(content: Element) -> Element | None:
    """Return the outermost element that holds a note beside the text and its mark, and nothing else."""
    found: Element | None = None
    for above in content.above():
        if above.tag != "span" or above.text - content.text > MAX_MARK_CHARS:
            break
        if _AROUND_BESIDE.search(above.get("class")):
            found = above
    return found


def _first_inside(block: Element) -> Element | None:
    """Return the element that a block begins with, down to a raised or strong one."""
    element = block
    while element.children and element.tag not in ("sup", "strong"):
        first = next((one for one in element.children if not isinstance(one, str) or one.strip()), None)
        if first is None or isinstance(first, str):
            return None
        element = first
    return element if element.tag in ("sup", "strong") and element.text <= 4 else None


def _is_list_of_notes(element: Element) -> bool:
    return bool(_OF_NOTES.search(element.hints)) or any(
        above.tag == "aside" or _OF_NOTES.search(above.hints)
        for _, above in zip(range(2), element.above(), strict=False)
    )
