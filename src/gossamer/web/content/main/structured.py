"""The text of the article in the page's data: structured data, or the state of its application."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from selectolax.lexbor import LexborNode

from gossamer.web.html.elements.element import Element
from gossamer.web.html.sanitise import is_light
from gossamer.web.html.tree import Tree, parse

MIN_BODY_CHARS: Final = 300  # a shorter one is a summary
_MAX_DEPTH: Final = 6
_STATE_ATTRIBUTES: Final = ("data-react-props", "data-props", "data-page")  # of react-rails and Inertia
_STATES: Final = ", ".join(
    (
        "script#__NEXT_DATA__",
        "script#__NUXT_DATA__",
        "script[type='application/json']",
        *(f"[{name}^='{{']" for name in _STATE_ATTRIBUTES),
    )
)
_MAX_STATES: Final = 5
_MAX_STATE_CHARS: Final = 2_000_000
_MAX_STATE_DEPTH: Final = 25
_MIN_TEXT_CHARS: Final = 120  # of a text in a state; shorter ones are labels
_MAX_TEXTS: Final = 500


def article_body(json_ld: list[dict[str, Any]]) -> str:
    """Return the longest `articleBody`, or nothing."""
    found = max(_bodies(json_ld, _MAX_DEPTH), key=len, default="")
    return found if len(found) >= MIN_BODY_CHARS else ""


def state_texts(tree: Tree) -> str:
    """Return the sentences in the data that the page's application begins with, or nothing."""
    seen: dict[str, None] = {}
    states = [text for text in map(_state_in, tree.source.css(_STATES)) if len(text) <= _MAX_STATE_CHARS]
    largest = sorted(range(len(states)), key=lambda at: len(states[at]))[-_MAX_STATES:]
    for state in [states[at] for at in sorted(largest)]:  # smaller ones are of buttons and menus
        seen.update(dict.fromkeys(islice(_sentences(_decode(state)), _MAX_TEXTS)))
    found = "\n\n".join(seen)
    return found if len(found) >= MIN_BODY_CHARS else ""


def _state_in(node: LexborNode) -> str:
    if node.tag == "script":
        return node.text() or ""
    attributes = node.attributes
    return next((state for name in _STATE_ATTRIBUTES if (state := attributes.get(name))), "")


def to_element(text: str) -> Element:
    """Return an article with these paragraphs. Markup in the text is read as such if it is light: the page
    was judged without it."""
    if "</" in text and is_light(text):
        return parse(text).body
    article = Element("article", {}, None)
    article.blocks, article.text = True, len(text)
    for line in filter(None, map(str.strip, text.splitlines())):
        paragraph = Element("p", {}, article)
        paragraph.children.append(line)
        paragraph.text = len(line)
        article.children.append(paragraph)
    return article


def _decode(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _sentences(state: object) -> Iterator[str]:
    waiting: list[tuple[object, int]] = [(state, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str):
            if len(value) >= _MIN_TEXT_CHARS and " " in value and ". " in f"{value} ":
                yield value
        elif depth < _MAX_STATE_DEPTH and isinstance(value, dict | list):
            inside = value.values() if isinstance(value, dict) else value
            waiting += [(one, depth + 1) for one in reversed(list(inside))]


def _bodies(value: object, depth: int) -> list[str]:
    if depth == 0:
        return []
    if isinstance(value, list):
        return [body for one in value for body in _bodies(one, depth - 1)]
    if not isinstance(value, dict):
        return []
    own = value.get("articleBody")
    below = [
        body for one in value.values() if isinstance(one, dict | list) for body in _bodies(one, depth - 1)
    ]
    return [own, *below] if isinstance(own, str) else below
