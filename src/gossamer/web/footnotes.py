"""Footnotes: which marks in the text refer to which notes below it."""

import re
from typing import Final

from gossamer.web.tree import Element

_NAMES: Final = re.compile(r"footnote|noteref|fnref|cite_ref|reference")
_LABEL: Final = re.compile(r"\[?([0-9]{1,4}|[a-z*†‡])\]?")


def notes_of(roots: list[Element]) -> dict[str, str]:
    """Footnotes that are both referred to and there: the id of each, and its label."""
    labels: dict[str, str] = {}
    ids: set[str] = set()
    for root in roots:
        for element in root.walk():
            if element.tag == "a" and element.get("href").startswith("#") and element.text < 8:
                label = _LABEL.fullmatch(element.plain())
                if label and _refers_to_note(element):
                    labels.setdefault(element.get("href")[1:], label[1])
            elif element.tag in ("li", "p", "div", "aside", "section") and element.get("id"):
                ids.add(element.get("id"))
    return {target: label for target, label in labels.items() if target in ids}


def _refers_to_note(anchor: Element) -> bool:
    if anchor.get("role") == "doc-noteref" or _NAMES.search(anchor.get("class")):
        return True
    return anchor.within("sup")
