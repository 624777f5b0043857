"""What class and id say about an element: that it is the article, or that it is boilerplate beside it.

Class and id are free words, but most authors choose from the same few hundred, which `boilerplate.txt` lists.
Names are split as they are written (`related-posts`, `relatedPosts`, `related_posts`) and looked up word by
word. Each answer is cached, because a page repeats the same few names.
"""

import re
from functools import lru_cache
from typing import Final

from gossamer.web.html.vocabulary import read_sections, tags

_TABLE: Final = read_sections("gossamer.web.content", "boilerplate.txt")


def _whole_words(section: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^| )(?:{'|'.join(_TABLE[section])})(?: |$)")


_BODY: Final = _whole_words("body")
_ARTICLE: Final = _whole_words("article")
_PLACE: Final = _whole_words("place")
_WRAPPER: Final = _whole_words("wrapper")
_SURELY_BESIDE: Final = _whole_words("surely_beside")
_BESIDE: Final = _whole_words("beside")
_BESIDE_ALONE: Final = frozenset(_TABLE["beside_alone"])
_NOTE: Final = re.compile(rf"\W*(?:{'|'.join(_TABLE['notes'])})\W*", re.I)

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")
_MODIFIER: Final = re.compile(r"--.*|@.*")  # `block--modifier` names a variant, not the part
_PART_OF_ARTICLE: Final = re.compile(
    r"(?:^|\s)(?:hentry|h-entry|type-post|type-page|articleBody|admonition|admonitionblock|callout|footnotes?"
    r"|footnote-list|note|warning|tip|important|caution|example|pull-?quote|topic)(?:\s|$)"
)
# Names that describe the page, a state or the subject, not the part that they are written on.
_ABOUT_ELSE: Final = re.compile(
    r"^(?:has|with|no|without|not|hide|show|is|js|open|closed|tag|category|cat|format|status|type|page) ."
    r"|(?:^| )(?:layout|grid|row|cols?|enabled?|disabled|template)(?: |$)"
)
_BOILERPLATE_TAGS: Final = tags("nav footer aside menu search")
_BOILERPLATE_ROLES: Final = tags(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar tablist form "
    "alert doc-toc tooltip"
)
_CONTENT_ROLES: Final = tags("doc-footnote doc-endnotes note article main")


@lru_cache(maxsize=16_384)
def _split_words(hints: str) -> str:
    """Write `relatedPosts post-42` as `related posts post 42`."""
    return _SEPARATORS.sub(" ", _CAMEL.sub(" ", hints).lower()).strip()


@lru_cache(maxsize=16_384)
def article_rank(hints: str) -> int:
    """Return 3 for the body of an article, 2 for a whole article, 1 for the place around one, else 0."""
    words = _split_words(hints)
    if _BODY.search(words):
        return 2 if _WRAPPER.search(words) else 3
    if _ARTICLE.search(words):
        return 2
    return 1 if _PLACE.search(words) else 0


@lru_cache(maxsize=16_384)
def boilerplate_rank(hints: str) -> int:
    """Return 2 for certain boilerplate, 1 for what is boilerplate if it holds little of the page, else 0."""
    rank = 0
    for name in hints.split():
        words = _split_words(_MODIFIER.sub("", name))
        if words and not _ABOUT_ELSE.search(words):
            if _SURELY_BESIDE.search(words):
                return 2
            if words in _BESIDE_ALONE or _BESIDE.search(words):
                rank = 1
    return rank


@lru_cache(maxsize=16_384)
def is_part_of_article(hints: str, role: str) -> bool:
    """Whether the names or the role put an element in the article, whatever else they say."""
    return _PART_OF_ARTICLE.search(hints) is not None or role in _CONTENT_ROLES


def has_boilerplate_role(tag: str, role: str) -> bool:
    return tag in _BOILERPLATE_TAGS or role in _BOILERPLATE_ROLES


def is_note(line: str) -> bool:
    """Whether a short line is about the page and not part of its content."""
    return _NOTE.fullmatch(line) is not None
