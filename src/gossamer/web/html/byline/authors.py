"""The authors that a page names beside its headline, without the site's own name and without commenters."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import unescape
from typing import Final

from gossamer.web.html.byline.headline import Headline
from gossamer.web.html.elements.element import Element
from gossamer.web.html.tree import Tree
from gossamer.web.html.vocabulary import read_sections, tags

MAX_NAME_CHARS: Final = 80
MAX_NAMES: Final = 8
BEFORE: Final = 25  # elements before a headline
AFTER: Final = 60  # and after it
_WORDS: Final = read_sections("gossamer.web.html.byline", "words.txt")
_BY: Final = re.compile(rf"^(?:{'|'.join(_WORDS['by'])})\b\s*[:\uff1a]?\s*", re.I)
_AFTER_NAME: Final = re.compile(
    r"\s*(?:[|\u00b7\u2022\u203a\u00bb\u2192(\[,;]|\s[-\u2013\u2014/]\s"
    rf"|\b(?:{'|'.join(_WORDS['after_name'])})\b|\d).*$",
    re.I,
)
_MORE_BY: Final = re.compile(rf"^(?:{'|'.join(_WORDS['more_by'])})\s+", re.I)
_NO_NAME: Final = re.compile(
    r"https?:|www\.|@|\d|[<>{}]|\.(?:com|de|net|org|fr|it|es|at|ch|pl|co|info)\b|\b(?:gmbh|ltd|inc|e\.v|s\.a|ag)\b"
    r"|^(?:admin|administrator|editor|staff|user|guest|unknown|null|none|author|autor|webmaster|wordpress|team|root"
    r"|anonymous|anonym|super user|unbenannt)$|^(?:foto|photo|bild|image|publiziert|kategorie)\b",
    re.I,
)
_PERSON: Final = re.compile(
    r"[^\W\d_a-zß-öø-ÿ][\w'\u2019.-]*(?:\s+(?:(?:von|van|de|der|den|del|di|da|dos|la|le|al|el|bin|ten|zu|y|e|v\.)\s+){0,2}"
    r"[^\W\d_a-zß-öø-ÿ][\w'\u2019.-]*){1,3}"
)
_BYLINES: Final = tags("author authors byline autor autoren auteur fn writer verfasser")


def find_authors(tree: Tree, headline: Headline, site_names: frozenset[str]) -> list[str]:
    """Return those that the page marks up, then those in an element named after authors, then a line that
    begins with `By` beside the headline."""
    for candidates in (_marked_up(tree), _named(tree), _written(headline)):
        texts = (one for one in candidates if not headline.is_elsewhere(one))
        first = next((names for one in texts if (names := people([one.plain()], site_names))), None)
        if first:
            return first
    return []


def people(names: Sequence[str], site_names: frozenset[str]) -> list[str]:
    """Return the names of people among these texts: each once, and none that is the site's."""
    found: dict[str, str] = {}
    for text in names:
        name = clean_name(text)
        if is_name(name) and fold(name) not in site_names:
            found.setdefault(fold(name), name)
    return list(found.values())[:MAX_NAMES]


def clean_name(text: str) -> str:
    line = " ".join(unescape(_TAGS.sub(" ", text)).split())[: 2 * MAX_NAME_CHARS]
    line = _MORE_BY.sub("", _BY.sub("", line))
    return _AFTER_NAME.sub("", line).strip(" ,;:|·•-\u2013\u2014→")


_TAGS: Final = re.compile(r"<[^<>]{1,300}>")


def is_name(text: str) -> bool:
    return 2 < len(text) <= MAX_NAME_CHARS and len(text.split()) <= 8 and not _NO_NAME.search(text)


def fold(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _marked_up(tree: Tree) -> Iterator[Element]:
    for element in tree.lines.marked_up:
        if _is_author(element):
            yield element.find("span", "a") or element if element.text > MAX_NAME_CHARS else element


def _is_author(element: Element) -> bool:
    return "author" in f"{element.get('rel')} {element.get('itemprop')}".split()


def _named(tree: Tree) -> Iterator[Element]:
    for element in tree.lines.named:
        if 2 < element.text <= MAX_NAME_CHARS and "class" in element.attributes and _is_byline(element.hints):
            yield element


@lru_cache(maxsize=4096)  # a page has few different classes
def _is_byline(hints: str) -> bool:
    return not _BYLINES.isdisjoint(hints.lower().replace("-", " ").replace("_", " ").split())


def _written(headline: Headline) -> Iterator[Element]:
    for element, _ in headline.beside(BEFORE, AFTER):
        first = element.children[0] if 5 < element.text <= MAX_NAME_CHARS else None
        named = isinstance(first, str) and _BY.match(first.lstrip())
        if named and _PERSON.fullmatch(clean_name(element.plain())):
            yield element
