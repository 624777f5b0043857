"""What class and id say about an element: that it is the article, or that it is boilerplate beside it.

Class and id are free words, but most authors choose from the same few hundred, which `boilerplate.txt` lists.
Names are split as they are written (`related-posts`, `relatedPosts`, `related_posts`) and looked up word by
word. Each answer is cached, because a page repeats the same few names.
"""

import re
from collections.abc import Iterable, Mapping
from enum import IntFlag, auto
from functools import lru_cache
from typing import Final

from gossamer.web.html.vocabulary import any_of, expand, read_sections, tags

_TABLE: Final = read_sections("gossamer.web.content.main", "boilerplate.txt")


class PartKind(IntFlag):
    """What a name says about the part of the page that it is written on."""

    SURELY_BESIDE = auto()
    BESIDE = auto()
    COMMENT = auto()
    NEWSLETTER = auto()
    RELATED = auto()
    BYLINE = auto()
    CAPTION = auto()
    BODY = auto()
    ASIDE = auto()  # by its tag or role


# Operations on the flags themselves are slow.
_SURE: Final = int(PartKind.SURELY_BESIDE)
_MAYBE: Final = int(PartKind.BESIDE)
_IS_BODY: Final = int(PartKind.BODY)
_RANK_AT: Final = len(PartKind)  # above the flags
_ALL_KINDS: Final = (1 << _RANK_AT) - 1
_BODY, _ARTICLE, _PLACE, _WRAPPER = 1, 2, 4, 8  # flags of names of the article


def _phrases(flags: Mapping[str, int]) -> dict[str, int]:
    """Return the flags of every phrase in these sections of the table."""
    found: dict[str, int] = {}
    for section, flag in flags.items():
        for phrase in {phrase for line in _TABLE[section] for phrase in expand(line)}:
            found[phrase] = found.get(phrase, 0) | flag
    return found


_ARTICLE_PHRASES: Final = _phrases({"body": _BODY, "article": _ARTICLE, "place": _PLACE, "wrapper": _WRAPPER})
_BESIDE_PHRASES: Final = _phrases(
    {
        kind.name.lower(): int(kind)
        for kind in PartKind
        if kind.name and kind is not PartKind.BODY and kind.name.lower() in _TABLE
    }
)
_BESIDE_ALONE: Final = frozenset(_TABLE["beside_alone"])


def _lengths(phrases: Iterable[str]) -> dict[str, int]:
    """Return how many words the longest phrase has that begins with a word."""
    found: dict[str, int] = {}
    for words in map(str.split, phrases):
        found[words[0]] = max(found.get(words[0], 0), len(words))
    return found


_ARTICLE_LENGTHS: Final = _lengths(_ARTICLE_PHRASES)
_BESIDE_LENGTHS: Final = _lengths(_BESIDE_PHRASES)
_ARTICLE_WORDS: Final = frozenset(_ARTICLE_LENGTHS)  # the first words of all phrases
_BESIDE_WORDS: Final = _BESIDE_ALONE.union(_BESIDE_LENGTHS)
_VOCABULARY: Final = _ARTICLE_WORDS | _BESIDE_WORDS
_LEGAL: Final = any_of(_TABLE["legal"])
_REQUEST: Final = any_of(_TABLE["request"])
_NOTE: Final = re.compile(rf"\W*(?:{'|'.join(_TABLE['notes'])})\W*", re.I)

_CAMEL: Final = re.compile(r"[A-Z](?<=[a-z0-9][A-Z])")
_TO_SPACE: Final = bytes(code if chr(code).isalnum() else 32 for code in range(128)).ljust(256)
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


def _split_words(hints: str) -> list[str]:
    """Write `relatedPosts post-42` as `related posts post 42`, in a list."""
    if not hints.islower():
        hints = _CAMEL.sub(r" \g<0>", hints).lower()
    if not hints.isascii():
        return _SEPARATORS.sub(" ", hints).split()
    return hints.encode().translate(_TO_SPACE).decode().split()  # bytes are translated much faster


def _look_up(words: list[str], phrases: Mapping[str, int], lengths: Mapping[str, int]) -> int:
    """Return the flags of all phrases in these words."""
    found = 0
    for at, word in enumerate(words):
        if length := lengths.get(word):
            found |= phrases.get(word, 0)
            for behind in range(at + 2, min(at + length, len(words)) + 1):
                found |= phrases.get(" ".join(words[at:behind]), 0)
    return found


@lru_cache(maxsize=16_384)
def _flags_of(hints: str) -> int:
    """Return the flags of `PartKind`, and above them the rank as an article."""
    words = _split_words(hints)
    if _VOCABULARY.isdisjoint(words):
        return 0
    found = 0
    if not _BESIDE_WORDS.isdisjoint(words):
        for name in hints.split():
            found |= _kinds_of_name(name)
    if _ARTICLE_WORDS.isdisjoint(words):
        return found
    rank = _article_rank(_look_up(words, _ARTICLE_PHRASES, _ARTICLE_LENGTHS))
    return found | rank << _RANK_AT | (_IS_BODY if rank == 3 else 0)


def _article_rank(flags: int) -> int:
    if flags & _BODY:
        return 2 if flags & _WRAPPER else 3
    if flags & _ARTICLE:
        return 2
    return 1 if flags & _PLACE else 0


@lru_cache(maxsize=16_384)
def _kinds_of_name(name: str) -> int:
    words = _split_words(_MODIFIER.sub("", name) if "--" in name or "@" in name else name)
    found = _look_up(words, _BESIDE_PHRASES, _BESIDE_LENGTHS)
    if len(words) == 1 and words[0] in _BESIDE_ALONE:
        found |= _MAYBE
    return 0 if found and _ABOUT_ELSE.search(" ".join(words)) else found


def article_rank(hints: str) -> int:
    """Return 3 for the body of an article, 2 for a whole article, 1 for the place around one, else 0."""
    return _flags_of(hints) >> _RANK_AT


def kinds_of(hints: str) -> int:
    """Return what class and id say about a part, as flags of `PartKind`."""
    return _flags_of(hints) & _ALL_KINDS


def boilerplate_rank(hints: str) -> int:
    """Return 2 for certain boilerplate, 1 for what is boilerplate if it holds little of the page, else 0."""
    kinds = kinds_of(hints)
    return 2 if kinds & _SURE else 1 if kinds & _MAYBE else 0


@lru_cache(maxsize=16_384)
def is_part_of_article(hints: str, role: str) -> bool:
    """Whether the names or the role put an element in the article, whatever else they say."""
    return _PART_OF_ARTICLE.search(hints) is not None or role in _CONTENT_ROLES


def has_boilerplate_role(tag: str, role: str) -> bool:
    return tag in _BOILERPLATE_TAGS or role in _BOILERPLATE_ROLES


def is_note(line: str) -> bool:
    """Whether a short line is about the page and not part of its content."""
    return _NOTE.fullmatch(line) is not None


def speaks_of_rights(line: str) -> bool:
    """`line` is in lower case."""
    return _LEGAL.search(line) is not None


def asks_reader(line: str) -> bool:
    """Whether a line, in lower case, asks the reader to subscribe, to share, to read another page."""
    return _REQUEST.search(line) is not None
