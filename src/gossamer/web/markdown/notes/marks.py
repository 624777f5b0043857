"""Marks: the elements in a text that refer to a note."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from gossamer.web.html.elements.element import Element

MAX_MARK_CHARS: Final = 12
_LABEL: Final = re.compile(
    r"[\[({\s]*+((?:note|nb|n|fn)?\W?\d{1,4}[a-z]?|[a-z]{1,2}|[ivxlc]{1,6}|[*†‡§¶#⁂※]{1,4}|[¹²³⁰⁴-⁹]{1,3})[\])}\s.:]*+",
    re.I,
)
_BRACKETED: Final = re.compile(r"\s*\[.+\]\s*")
_MARK_NAMES: Final = re.compile(
    r"foot-?note|noteref|note-ref|fn-?ref|ftn-?ref|cite_ref|footref|endnote|side-?note"
    r"|(?:^|[\s_-])(?:fn|reference|fna-ref|ref)(?:$|[\s_:-])",
    re.I,
)
_TARGETS: Final = re.compile(
    r"(?:note|cite|citation|bib|bib\.bib|ref|reference|r|n|cr)[-_:.]?\w{0,40}", re.I
)  # of notes, if the mark is in brackets
_SURE_TARGETS: Final = re.compile(
    r"(?:user-content-)?_?(?:ftnt?|edn|fn|footnote|endnote|sdfootnote|cite_note)[-_:.]?\w{0,40}", re.I
)
_BACK_TARGETS: Final = re.compile(
    r"_?(?:fnref|ftnt?_?ref|ednref|footnote-?ref|cite_ref|noteref|fnanchor|docf|fnr)|[-_.:]?(?:ref|back|link|marker)\W?\d*$",
    re.I,
)
_BACK_NAMES: Final = re.compile(
    r"back-?ref|back-?link|backward|footnote-?(?:back|return|to-top)|reversefootnote|footnote-number|footnum",
    re.I,
)
_BACK_SIGNS: Final = frozenset("^↩↑⤴⏎↵⬆🔙︎️⇑▲↺ ")


def fragment_of(anchor: Element) -> str:
    """Return the id that a link points to, or nothing."""
    reference = anchor.get("href")
    return unquote(reference.partition("#")[2]) if "#" in reference else ""


def label_of(text: str) -> str:
    """Return what a mark is called: `1` for `[1]`; nothing for text that is no mark."""
    found = _LABEL.fullmatch(text)
    return "-".join(re.findall(r"\w+|[^\w\s]+", found[1])) if found else ""


def is_mark(anchor: Element) -> bool:
    """Whether a link to a place on its page refers to a note there, not to a section or an equation."""
    if anchor.text > MAX_MARK_CHARS or anchor.blocks:
        return False
    if is_declared(anchor):
        return True
    text = anchor.plain()
    if not label_of(text):
        return False
    if _is_raised(anchor) or any(_MARK_NAMES.search(one.hints) for one in _close(anchor) if one.attributes):
        return True
    to = fragment_of(anchor)
    bracketed = _BRACKETED.fullmatch(text) is not None or anchor.within("cite")
    return bool(_SURE_TARGETS.fullmatch(to) or (bracketed and _TARGETS.fullmatch(to)))


def is_declared(anchor: Element) -> bool:
    """Whether the page says that the link is a mark."""
    found = anchor.attributes
    return (
        "data-footnote-ref" in found
        or found.get("role") == "doc-noteref"
        or "noteref" in (found.get("epub:type") or found.get("data-type") or "")
    )


def _is_raised(anchor: Element) -> bool:
    return any(one.tag == "sup" for one in _close(anchor)) or any(one.tag == "sup" for one in anchor.elements)


def _close(anchor: Element) -> Iterator[Element]:
    """Yield the element, and up to two inline elements right around it."""
    yield anchor
    for _, above in zip(range(2), anchor.above(), strict=False):
        if above.tag not in ("sup", "span", "small", "b", "strong", "cite", "label"):
            return
        yield above


def is_back_link(anchor: Element, marks: set[str]) -> bool:
    """Whether a link in a note leads back to the text; `marks` are the ids of marks and of what is around."""
    if anchor.get("role") == "doc-backlink" or _BACK_NAMES.search(anchor.get("class")):
        return True
    if "data-footnote-backref" in anchor.attributes or anchor.text > MAX_MARK_CHARS:
        return "data-footnote-backref" in anchor.attributes
    text = anchor.plain()
    if text and not (set(text) - _BACK_SIGNS):
        return True
    to = fragment_of(anchor)
    return bool(to) and (to in marks or _BACK_TARGETS.search(to) is not None)


def ids_around(mark: Element) -> Iterator[str]:
    for one in _close(mark):
        yield from (one.get(name) for name in ("id", "name") if one.get(name))
