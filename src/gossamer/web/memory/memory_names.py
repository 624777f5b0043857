"""The names that entries of memory have: namespaces, keys and tags."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from gossamer.problems import Problem, validation_error

MAX_NAMESPACE_CHARS: Final = 64
MAX_KEY_BYTES: Final = 256  # of UTF-8
MAX_TAG_CHARS: Final = 64
MAX_TAGS: Final = 20
DEFAULT_NAMESPACE: Final = "default"
# For JSON Schema; `check_namespace` is what decides.
NAMESPACE_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
LAST_CHARACTER: Final = "\U0010ffff"  # greater than all that a key may have

_NAMESPACE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_INVISIBLE: Final = frozenset({"Cc", "Cs", "Cn"})  # controls, halves of surrogate pairs, no characters


def check_namespace(name: str) -> str:
    if _NAMESPACE.fullmatch(name) is None:
        raise validation_error(
            f"{name[:100]!r} is not the name of a namespace.",
            hint=f"Use up to {MAX_NAMESPACE_CHARS} letters, digits and . _ - in it, and begin with one of "
            "the former.",
        )
    return name


def check_key(key: str) -> str:
    """A key is compared by its characters as they are, without folding case or accents."""
    if not key or _is_longer(key, MAX_KEY_BYTES) or has_invisible(key):
        raise _bad_key(key)
    return key


def check_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Each tag once, in order."""
    distinct = tuple(sorted(set(tags)))
    if len(distinct) > MAX_TAGS:
        raise validation_error(f"There are {len(distinct)} tags; an entry has at most {MAX_TAGS}.")
    for tag in distinct:
        if not 0 < len(tag) <= MAX_TAG_CHARS or has_invisible(tag):
            raise validation_error(
                f"{tag[:100]!r} is not a tag.", hint=f"Use 1 to {MAX_TAG_CHARS} visible characters."
            )
    return distinct


def has_invisible(text: str) -> bool:
    """Whether it has characters that no name should have."""
    return not text.isprintable() and any(unicodedata.category(one) in _INVISIBLE for one in text)


def _is_longer(text: str, most: int) -> bool:
    return len(text) > most or len(text.encode("utf-8", "replace")) > most


def _bad_key(key: str) -> Problem:
    return validation_error(
        f"{key[:100]!r} is not a key.",
        hint=f"A key has 1 to {MAX_KEY_BYTES} bytes of UTF-8, without control characters.",
    )
