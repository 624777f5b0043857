"""Formulas of a page: MathML, and what KaTeX, MathJax, wikis and services for images make of TeX."""

import re
from typing import Final, NamedTuple
from unicodedata import normalize
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.html.formulas.mathml import to_tex

FORMULA_TAGS: Final = frozenset(("math", "mjx-container", "script", "img", "span", "div"))
_SOURCES: Final = frozenset(("data-math", "data-tex", "data-latex", "data-expr"))
_DRAWN_BY_MATHJAX: Final = re.compile(r"(?:^|\s)(?:MathJax(?:_\w+)?|mjx-chtml)(?:\s|$)")
_IMAGES: Final = re.compile(r"(?:^|\s)(?:latex|tex|mwe-math-fallback-image-\w+|ee_img|math-?tex)(?:\s|$)")
_SERVICES: Final = re.compile(
    r"(?:latex\.codecogs\.com/[^?]*\?|wp\.com/latex\.php\?(?:[^#]*&)?latex=|[?&]cht=tx(?:&[^#]*)?&chl=|zhihu\.com/equation\?tex=)"
    r"([^&]+)"
)
_COMMENT: Final = re.compile(r"(?<!\\)%[^\n]*\n")
_DISPLAY_STYLE: Final = re.compile(r"\{\\(?:displaystyle|textstyle)\s(.*)\}", re.S)
_DISPLAY: Final = re.compile(
    r"katex-display|MathJax_Display|math-display|math-block|display-math|mathdisplay", re.I
)
_STARTS_AS_TEX: Final = re.compile(r"\$?\\[a-zA-Z]{2,}")
_LOOKS_LIKE_TEX: Final = re.compile(r"\\[a-zA-Z]|[_^{}=]|\A.{1,3}\Z")
MAX_CHARS: Final = 20_000


class Formula(NamedTuple):
    tex: str  # empty if it only repeats another one
    display: bool = False  # it stands on a line of its own


def formula_of(node: LexborNode, tag: str, attributes: dict[str, str | None]) -> Formula | None:
    """Return the formula that an element shows, or None if it shows something else."""
    if tag in ("span", "div"):
        return _of_part(node, attributes) if attributes else None
    if tag == "math":
        return Formula(_tidy(_of_math(node, attributes)), _is_display(node, attributes))
    if tag == "script":
        kind = attributes.get("type") or ""
        return Formula(_tidy(node.text()), "display" in kind) if kind.startswith("math/tex") else None
    if tag == "mjx-container":
        return _of_mathjax(node, attributes)
    return _of_image(node, attributes)


def _of_part(node: LexborNode, attributes: dict[str, str | None]) -> Formula | None:
    """Return the formula of an element that a script fills, or has filled."""
    named = attributes.get("class") or ""
    if not _SOURCES.isdisjoint(attributes) and (source := _source_of(attributes)):
        return Formula(_tidy(source), _DISPLAY.search(named) is not None)
    if ("MathJax" in named or "mjx" in named) and _DRAWN_BY_MATHJAX.search(named):
        return _of_old_mathjax(node, attributes)
    return None


def _source_of(attributes: dict[str, str | None]) -> str:
    """Return the first source; an expression may also be one of a program, unless it has a backslash."""
    for name, source in attributes.items():
        if name in _SOURCES and source and (name != "data-expr" or "\\" in source):
            return source
    return ""


def _of_math(node: LexborNode, attributes: dict[str, str | None]) -> str:
    for annotation in node.css("annotation"):
        if "tex" in (annotation.attributes.get("encoding") or "").lower():
            return annotation.text()
    said = attributes.get("alttext") or ""
    return said if _LOOKS_LIKE_TEX.search(said) else to_tex(node)


def _is_display(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    if attributes.get("display") == "block" or attributes.get("mode") == "display":
        return True
    above = node.parent
    for _ in range(3):
        if above is None or above.tag not in ("span", "div"):
            return False
        if _DISPLAY.search(above.attributes.get("class") or ""):
            return True
        above = above.parent
    return False


def _of_mathjax(node: LexborNode, attributes: dict[str, str | None]) -> Formula:
    display = attributes.get("display") in ("true", "block")
    source = node.css_first("[data-latex]")
    if attributes.get("data-latex") or source is not None:
        said = attributes.get("data-latex") or (source.attributes.get("data-latex") if source else "")
        return Formula(_tidy(said or ""), display)
    math = node.css_first("math")
    if math is None:  # the symbols alone, without their places
        return Formula(normalize("NFKC", _tidy(node.text())), display)
    return Formula(_tidy(_of_math(math, math.attributes)), display)


def _of_old_mathjax(node: LexborNode, attributes: dict[str, str | None]) -> Formula:
    """Read what MathJax 2 drew, unless the source follows in a script."""
    display = "Display" in (attributes.get("class") or "")
    if _is_followed_by_source(node) or "MathJax_Preview" in (attributes.get("class") or ""):
        return Formula("")
    drawn = node.css_first("[data-mathml]")
    markup = attributes.get("data-mathml") or (
        drawn.attributes.get("data-mathml") if drawn is not None else ""
    )
    math = LexborHTMLParser(markup[:MAX_CHARS]).css_first("math") if markup else node.css_first("math")
    if math is None:
        return Formula(" ".join(node.text().split())[:MAX_CHARS])
    return Formula(
        _tidy(_of_math(math, math.attributes)), display or math.attributes.get("display") == "block"
    )


def _is_followed_by_source(node: LexborNode) -> bool:
    following = node.next
    for _ in range(4):
        if following is None:
            return False
        if following.tag == "script":
            return (following.attributes.get("type") or "").startswith("math/")
        following = following.next
    return False


def _of_image(node: LexborNode, attributes: dict[str, str | None]) -> Formula | None:
    named = attributes.get("class") or ""
    if "mwe-math-fallback" in named and node.prev is not None and node.prev.css_first("math") is not None:
        return Formula("")
    said = attributes.get("alt") or ""
    if _STARTS_AS_TEX.match(said) or (named and _IMAGES.search(named) and _LOOKS_LIKE_TEX.search(said)):
        return Formula(_tidy(said.strip("$")))
    served = _SERVICES.search(attributes.get("src") or "")
    return Formula(_tidy(unquote(served[1]))) if served else None


def _tidy(tex: str) -> str:
    """Return TeX on one line, without comments and the frame that wikis put around it."""
    tex = " ".join(_COMMENT.sub("\n", tex[:MAX_CHARS]).split())
    framed = _DISPLAY_STYLE.fullmatch(tex)
    return framed[1].strip() if framed else tex
