"""Escaping: plain text gets a backslash where Markdown would read it as markup, and only there."""

import re
from typing import Final

_SPECIAL: Final = re.compile(r"[\\`*_\[\]<&~]")
_TEX: Final = re.compile(
    r"\\\(\s*(?P<inline>(?:(?!\\\)|\\\().){1,2000}?)\s*\\\)"
    r"|\\\[\s*(?P<block>(?:(?!\\\]|\\\[).){1,4000}?)\s*\\\]"
    r"|\$\$[^$]{1,4000}\$\$"
    r"|\$(?P<dollars>(?=[^$\s])(?=[^$]{0,300}(?:\\[a-zA-Z]|[_^]))[^$]{1,300}(?<!\s))\$(?!\d)"
    r"|\\begin\{(?P<name>[a-z]{1,20}\*?)\}(?:(?!\\begin\{).){1,4000}?\\end\{(?P=name)\}"
)
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ENTITY: Final = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);")
_CLOSING_SIGNS: Final = re.compile(r"(?:(?<=\s)|^)(#+)$")
_LINE_START: Final = re.compile(
    r"#{1,6}(?=\s|$)|[-+*](?=\s|$)|(\d{1,9})([.)])(?=\s|$)|>|=+\s*$|-{2,}$|(?:_\s*){3,}$"
    r"|[|:]\s*[-:|][-:|\s]*$|-[-:|\s]+$"
)
_UNESCAPED_PIPE: Final = re.compile(r"(?<!\\)((?:\\\\)*)\|")


def escape_text(text: str, before: str = " ", after: str = " ") -> str:
    """Escape plain text, but not the TeX in it, which waits for a script to draw it."""
    if ("\\" not in text and "$" not in text) or not _TEX.search(text):
        return escape(text, before, after)
    pieces: list[str] = []
    at = 0
    for found in _TEX.finditer(text):
        pieces.append(escape(text[at : found.start()], before, "$"))
        inline = found["inline"] or found["dollars"]
        pieces.append(f"${inline}$" if inline is not None else f"$${found['block'] or found[0].strip('$')}$$")
        at, before = found.end(), "$"
    return "".join([*pieces, escape(text[at:], before, after)])


def escape(text: str, before: str = " ", after: str = " ") -> str:
    """Escape plain text that stands between two characters."""
    if not _SPECIAL.search(text):
        return text

    def escaped(match: re.Match[str]) -> str:
        at = match.start()
        sign = match[0]
        one_before = text[at - 1] if at else before
        one_after = text[at + 1] if at + 1 < len(text) else after
        needed = sign == "`" or _is_markup(sign, one_before, one_after)
        if sign == "&":
            needed = _ENTITY.match(text, at) is not None
        return "\\" + sign if needed else sign

    return _SPECIAL.sub(escaped, text)


def _is_markup(sign: str, before: str, after: str) -> bool:
    if sign == "\\":
        return after in _PUNCTUATION
    if sign == "*":
        return not (before.isspace() and after.isspace())
    if sign == "_":
        return not (before.isalnum() and after.isalnum()) and not (before.isspace() and after.isspace())
    if sign == "[":
        return after == "^"
    if sign == "]":
        return after in "([:"
    if sign == "<":
        return after.isalpha() or after in "/!?"
    return sign == "~" and "~" in (before, after)


def escape_line(line: str) -> str:
    """Keep a line of a paragraph from being read as a heading, a list, a quote, a rule or a table."""
    return _LINE_START.sub(_escape_start, line, count=1) if _LINE_START.match(line) else line


def _escape_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[0]}"


def escape_heading(text: str) -> str:
    """Keep signs at the end of a heading from being read as its closing sequence."""
    return _CLOSING_SIGNS.sub(r"\\\1", text) if text.endswith("#") else text


def escape_pipes(text: str) -> str:
    """Keep pipes in a cell from being read as the end of the cell."""
    return _UNESCAPED_PIPE.sub(r"\1\\|", text) if "|" in text else text


def escape_quotes(title: str) -> str:
    return title.replace("\\", "\\\\").replace('"', '\\"')
