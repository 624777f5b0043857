"""MathML as TeX.

The layout is translated, not the meaning. A formula that is too large or too deep is written as its symbols
in order, from the point where it is.
"""

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from selectolax.lexbor import LexborNode

from gossamer.web.html.formulas.symbols import ACCENTS, BIG, FUNCTIONS, is_relation, symbol

MAX_DEPTH: Final = 60
MAX_NODES: Final = 20_000  # of one formula
_COMMAND_END: Final = re.compile(r"\\[a-zA-Z]+$")
_ONE_TOKEN: Final = re.compile(r"\\[a-zA-Z]+|\\?.|\{.*\}", re.S)
_WIDE: Final = re.compile(r"(\d*\.?\d+)em")
_VARIANTS: Final = {
    "bold": "mathbf",
    "double-struck": "mathbb",
    "script": "mathcal",
    "fraktur": "mathfrak",
    "sans-serif": "mathsf",
    "monospace": "mathtt",
    "normal": "mathrm",
}
_MATRICES: Final = {
    "()": "pmatrix",
    "[]": "bmatrix",
    "||": "vmatrix",
    "{}": "Bmatrix",
    "‖‖": "Vmatrix",
    "{": "cases",
}
_ENCLOSED: Final = (("box", "boxed"), ("strike", "cancel"), ("top", "overline"), ("bottom", "underline"))
_TEXT_SIGNS: Final = re.compile(r"[\\{}$%#&_^~]")


def to_tex(math: LexborNode) -> str:
    """Return the TeX of a `math` element."""
    return " ".join(_MathWriter().row(math, 0).split())


class _MathWriter(Struct):
    nodes: int = 0

    def write(self, node: LexborNode, depth: int) -> str:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            return _text(node)
        write = _WRITERS.get(node.tag or "")
        return write(self, node, depth + 1) if write else self.row(node, depth + 1)

    def row(self, node: LexborNode, depth: int) -> str:
        """Write the children one after the other; a table between fences is a matrix."""
        children = _elements(node)
        if not children:
            return "".join(symbol(sign) for sign in _text(node)) if node.tag != "math" else _text(node)
        if (matrix := self._matrix(children, depth)) is not None:
            return matrix
        pieces: list[str] = []
        for child in children:
            piece = self.write(child, depth)
            if piece[:1].isalpha() and pieces and _COMMAND_END.search(pieces[-1][-40:]):
                pieces.append(" ")
            pieces.append(piece)
        return "".join(pieces)

    def _matrix(self, children: list[LexborNode], depth: int) -> str | None:
        if not 2 <= len(children) <= 3 or children[1].tag != "mtable":
            return None
        fences = _text(children[0]) + (_text(children[2]) if len(children) == 3 else "")
        return self._rows(children[1], _MATRICES[fences], depth) if fences in _MATRICES else None

    def identifier(self, node: LexborNode, depth: int) -> str:
        text = _text(node)
        if text in FUNCTIONS:
            return f"\\{text} "
        variant = _VARIANTS.get(node.attributes.get("mathvariant") or "")
        written = "".join(symbol(sign) for sign in text)
        if variant and text.isalpha():
            return f"\\{variant}{{{written}}}"
        return rf"\mathrm{{{written}}}" if len(text) > 1 and text.isascii() and text.isalpha() else written

    def operator(self, node: LexborNode, depth: int) -> str:
        text = _text(node)
        if text in FUNCTIONS:
            return f"\\{text} "
        if len(text) > 1 and text.isalpha() and text.isascii():
            return rf"\operatorname{{{text}}} "
        written = "".join(symbol(sign) for sign in text)
        if is_relation(text):
            return f" {written} "
        return (
            f"{written} "
            if _COMMAND_END.search(written)
            else f"{written} "
            if text in (",", ";")
            else written
        )

    def text(self, node: LexborNode, depth: int) -> str:
        text = re.sub(r"\s+", " ", node.text(deep=True))
        if not text.strip():
            return " " if text else ""
        return rf"\text{{{_TEXT_SIGNS.sub(_escape, text)}}}"

    def space(self, node: LexborNode, depth: int) -> str:
        width = _WIDE.search(node.attributes.get("width") or "")
        return r"\quad " if width and float(width[1]) >= 0.9 else " "

    def fraction(self, node: LexborNode, depth: int) -> str:
        above, below = self._arguments(node, 2, depth)
        if (node.attributes.get("linethickness") or "").startswith("0"):
            return rf"{{{above} \atop {below}}}"
        return rf"\frac{{{above}}}{{{below}}}"

    def root(self, node: LexborNode, depth: int) -> str:
        if node.tag == "msqrt":
            return rf"\sqrt{{{self.row(node, depth).strip()}}}"
        base, index = self._arguments(node, 2, depth)
        return rf"\sqrt[{index}]{{{base}}}"

    def scripts(self, node: LexborNode, depth: int) -> str:
        base, *scripts = self._arguments(node, 3 if node.tag == "msubsup" else 2, depth)
        below = "" if node.tag == "msup" else scripts[0]
        return _with_scripts(base, below, scripts[-1] if node.tag != "msub" else "")

    def limits(self, node: LexborNode, depth: int) -> str:
        """Write what is below and above a base: limits of a sum, an accent, or something set there."""
        base, *others = self._arguments(node, 3 if node.tag == "munderover" else 2, depth)
        below = "" if node.tag == "mover" else others[0]
        above = "" if node.tag == "munder" else others[-1]
        children = _elements(node)
        if children and (_text(children[0]) in BIG or base.strip().lstrip("\\") in FUNCTIONS):
            return _with_scripts(base, below, above) + " "
        accent = ACCENTS.get(_text(children[1])) if len(children) == 2 else None
        if accent:
            return rf"\{accent}{{{base}}}"
        base = rf"\underset{{{below}}}{{{base}}}" if below else base
        return rf"\overset{{{above}}}{{{base}}}" if above else base

    def multiscripts(self, node: LexborNode, depth: int) -> str:
        children = _elements(node)
        split = next((at for at, one in enumerate(children) if one.tag == "mprescripts"), len(children))
        base = self.write(children[0], depth).strip() if children else ""
        after = self._pairs(children[1:split], depth)
        before = self._pairs(children[split + 1 :], depth)
        return ("{}" + before if before else "") + base + after

    def _pairs(self, children: list[LexborNode], depth: int) -> str:
        written = [self.write(one, depth).strip() for one in children]
        return "".join(
            _with_scripts("", below, above) for below, above in zip(written[::2], written[1::2], strict=False)
        )

    def fenced(self, node: LexborNode, depth: int) -> str:
        found = node.attributes
        begin, end = found.get("open", "(") or ".", found.get("close", ")") or "."
        separators = (found.get("separators", ",") or "").strip()
        inside = separators[:1].join(self.write(one, depth).strip() for one in _elements(node))
        return rf"\left{symbol(begin)}{inside}\right{symbol(end)}"

    def table(self, node: LexborNode, depth: int) -> str:
        rows = _elements(node)
        if len(rows) == 1:
            return self._row(rows[0], depth)
        return self._rows(
            node, "aligned" if "right" in (node.attributes.get("columnalign") or "") else "matrix", depth
        )

    def _rows(self, table: LexborNode, environment: str, depth: int) -> str:
        rows = r" \\ ".join(self._row(row, depth) for row in _elements(table))
        return rf"\begin{{{environment}}} {rows} \end{{{environment}}}"

    def _row(self, row: LexborNode, depth: int) -> str:
        cells = [self.write(cell, depth).strip() for cell in _elements(row)]
        tag = ""
        if row.tag == "mlabeledtr" and cells:
            tag = rf" \tag{{{_text(_elements(row)[0]).strip('()')}}}"
            cells = cells[1:]
        return " & ".join(cells) + tag

    def enclosed(self, node: LexborNode, depth: int) -> str:
        notation = node.attributes.get("notation") or ""
        command = next((command for word, command in _ENCLOSED if word in notation), "")
        inside = self.row(node, depth).strip()
        return rf"\{command}{{{inside}}}" if command else inside

    def phantom(self, node: LexborNode, depth: int) -> str:
        return rf"\phantom{{{self.row(node, depth).strip()}}}"

    def first(self, node: LexborNode, depth: int) -> str:
        """Write only the first child: the others say the same in another way."""
        children = _elements(node)
        return self.write(children[0], depth) if children else _text(node)

    def nothing(self, node: LexborNode, depth: int) -> str:
        return ""

    def _arguments(self, node: LexborNode, count: int, depth: int) -> list[str]:
        written = [self.write(one, depth).strip() for one in _elements(node)[:count]]
        return written + [""] * (count - len(written))


_WRITERS: Final[dict[str, Callable[[_MathWriter, LexborNode, int], str]]] = {
    "mi": _MathWriter.identifier,
    "mo": _MathWriter.operator,
    **dict.fromkeys(("mtext", "ms"), _MathWriter.text),
    "mspace": _MathWriter.space,
    "mfrac": _MathWriter.fraction,
    **dict.fromkeys(("msqrt", "mroot"), _MathWriter.root),
    **dict.fromkeys(("msub", "msup", "msubsup"), _MathWriter.scripts),
    **dict.fromkeys(("munder", "mover", "munderover"), _MathWriter.limits),
    "mmultiscripts": _MathWriter.multiscripts,
    "mfenced": _MathWriter.fenced,
    "mtable": _MathWriter.table,
    "menclose": _MathWriter.enclosed,
    "mphantom": _MathWriter.phantom,
    **dict.fromkeys(("semantics", "maction"), _MathWriter.first),
    **dict.fromkeys(("annotation", "annotation-xml", "none", "mprescripts"), _MathWriter.nothing),
}


def _with_scripts(base: str, below: str, above: str) -> str:
    if base and not _ONE_TOKEN.fullmatch(base):
        base = f"{{{base}}}"
    if above and not above.strip("'"):  # primes
        return base + above + (f"_{_group(below)}" if below else "")
    return base + (f"_{_group(below)}" if below else "") + (f"^{_group(above)}" if above else "")


def _group(text: str) -> str:
    return text if len(text) == 1 else f"{{{text}}}"


def _elements(node: LexborNode) -> list[LexborNode]:
    found: list[LexborNode] = []
    child = node.first_child
    while child is not None:
        if child.tag and not child.tag.startswith("-"):
            found.append(child)
        child = child.next
    return found


def _text(node: LexborNode) -> str:
    return " ".join(node.text(deep=True).split())


def _escape(match: re.Match[str]) -> str:
    return {"\\": r"\backslash ", "^": r"\^{}", "~": r"\~{}"}.get(match[0], "\\" + match[0])
