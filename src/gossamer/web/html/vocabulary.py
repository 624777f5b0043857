"""Word lists: read from a data file, or written as one line of text."""

import pkgutil
import re
from collections.abc import Iterable
from typing import Any, Final

_CONTINUED: Final = re.compile(r"\\\n\s*")
_SECTION: Final = re.compile(r"\[([a-z_]+)\]")


def words(text: str) -> tuple[str, ...]:
    """Split a text at its spaces, in order."""
    return tuple(text.split())


def tags(text: str) -> frozenset[str]:
    """Split a text at its spaces."""
    return frozenset(text.split())


def read_lines(package: str, name: str) -> list[str]:
    """Read the lines of a data file, without comments (`#`) and empty lines.

    A line that ends in a backslash continues on the next one.
    """
    content = pkgutil.get_data(package, name)  # importlib.resources loads zipfile, which takes 10 ms
    lines = _CONTINUED.sub("", (content or b"").decode()).splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def read_sections(package: str, name: str) -> dict[str, list[str]]:
    """Read a data file whose sections begin with `[name]`, and have one entry on each line."""
    sections: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in read_lines(package, name):
        if section := _SECTION.fullmatch(line):
            entries = sections.setdefault(section[1], [])
        else:
            entries.append(line)
    return sections


_GROUP: Final = re.compile(r"\(\?:([^()]*)\)(\??)|([^()?])(\??)")


def expand(pattern: str) -> list[str]:
    """Return all texts that a regular expression of letters, `?` and groups such as `(?:a|b)` matches."""
    found = [""]
    for group, optional, letter, may_lack in _GROUP.findall(pattern):
        choices = [text for one in group.split("|") for text in expand(one)] if group else [letter]
        if optional or may_lack:
            choices = [*choices, ""]
        found = [text + choice for text in found for choice in choices]
    return found


def any_of(texts: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of these texts. What several begin with is compared only once."""
    root: dict[str, Any] = {}  # by letter: what may follow; "" where a text ends
    for text in texts:
        letters = root
        for letter in text:
            letters = letters.setdefault(letter, {})
        letters[""] = {}
    return re.compile(_alternatives(root))


def _alternatives(letters: dict[str, Any]) -> str:
    if "" in letters:  # a longer text is found by the shorter one that it begins with
        return ""
    found = [re.escape(letter) + _alternatives(following) for letter, following in letters.items()]
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"
