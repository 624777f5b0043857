"""Words: compare names as people and programs write them."""

import re
from functools import lru_cache
from typing import Final

from gossamer.web.html.vocabulary import tags

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GAP: Final = re.compile(r"[^\w]+|_+", re.UNICODE)
_NOTE: Final = re.compile(r"(?<!\s)\s*+[(\[][^)\]]{0,40}[)\]][\s:]*+$")
_FILLERS: Final = tags("the a an of for its this in on is are at to and or with from value text")


@lru_cache(maxsize=8192)
def words(name: str) -> tuple[str, ...]:
    """Split a name into words: `datePublished`, `date_published` and `Date published:` are the same two."""
    spaced = _GAP.sub(" ", _HUMP.sub(" ", name[:200]))
    return tuple(singular(word) for word in spaced.casefold().split())


@lru_cache(maxsize=8192)
def key(name: str) -> str:
    return "".join(words(name)) or name


@lru_cache(maxsize=8192)
def phrase(name: str) -> str:
    """Return the words that carry the meaning, in order."""
    kept = [word for word in words(name) if word not in _FILLERS]
    return " ".join(kept or words(name))


@lru_cache(maxsize=8192)
def label_key(name: str) -> str:
    """Return the same key for every spelling of a label, such as `Weight (kg):`."""
    return key(phrase(_NOTE.sub("", name)))


@lru_cache(maxsize=8192)
def singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
