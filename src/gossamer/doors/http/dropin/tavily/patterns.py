"""Expressions that choose paths and domains, as patterns of a crawl.

A crawl takes texts with asterisks, which match in linear time. So an expression may have letters, escapes,
`.*` and `.+`, `^` at its beginning and `$` at its end.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from gossamer.problems import Problem, validation_error

_ANYTHING: Final = re.compile(r"\.[*+]\??")
_ESCAPE: Final = re.compile(r"\\([^A-Za-z0-9])")
_SPECIAL: Final = frozenset("()[]{}|+*?^$\\")


def pattern_of(expression: str) -> str:
    """Raises `Problem` for an expression that has no pattern. One without `$` matches what goes on, too."""
    text, at, ends = expression.removeprefix("^"), 0, False
    pattern = ""
    while at < len(text):
        if found := _ANYTHING.match(text, at):
            pattern += "*"
        elif found := _ESCAPE.match(text, at):
            pattern += found[1]
        elif text[at:] == "$":
            ends = True
        elif text[at] in _SPECIAL:
            raise _unknown(expression)
        else:
            pattern += text[at]
        at = found.end() if found else at + 1
    return pattern if ends or pattern.endswith("*") else f"{pattern}*"


def patterns_of(paths: Sequence[str], domains: Sequence[str]) -> list[str]:
    """Of URLs that match one of the paths and one of the domains, if there are any."""
    wanted = [pattern_of(path) for path in paths]
    below = [path if path.startswith(("/", "*")) else f"/{path}" for path in wanted]
    if not domains:
        return below
    hosts = [pattern_of(domain) for domain in domains]
    return [f"http*://{host}{path}" for host in hosts for path in below or ["/*"]]


def excluded_of(paths: Iterable[str], domains: Iterable[str]) -> list[str]:
    """Of URLs that match one of the paths or one of the domains."""
    return patterns_of(list(paths), ()) + [f"http*://{pattern_of(domain)}/*" for domain in domains]


def _unknown(expression: str) -> Problem:
    return validation_error(
        f"The expression {expression[:100]!r} is not supported.",
        hint="Use letters and `.*`, such as /docs/.*; give several expressions in place of (a|b).",
    )
