"""How much of a page's text is there, measured against what a long and patient look has shown."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser

UNSEEN: Final = ["script", "style", "noscript"]
# What stands in a shadow root is part of the page; a parser would put a template's content aside.
TEMPLATE: Final = re.compile(r"<(/?)template\b", re.IGNORECASE)
WORD: Final = re.compile(r"\w+")
COMPLETE: Final = 0.98  # from here on a page counts as complete

Words = Counter[str]  # and how often each of them is there


def words(html: str) -> Words:
    tree = LexborHTMLParser(TEMPLATE.sub(r"<\1div", html))
    tree.strip_tags(UNSEEN)
    return Counter(WORD.findall(tree.root.text(separator=" ") if tree.root else ""))


def lasting(looks: Sequence[Words]) -> Words:
    """What all of several looks have shown, without what is different every time."""
    first, *others = looks
    for other in others:
        first = first & other
    return first


def share(shown: Words, whole: Words) -> float:
    return (shown & whole).total() / max(whole.total(), 1)
