"""Write the content as GitHub-flavoured Markdown, with the structure of the page."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gossamer.web.html.links import Addresses
from gossamer.web.html.tree import BLOCKS, Element
from gossamer.web.markdown.fences import code_of, fence, language_of
from gossamer.web.markdown.inline import BREAK, Inline, code_span, destination, is_self_link
from gossamer.web.markdown.lists import (
    checkbox_of,
    define,
    entries_of,
    items_of,
    join_items,
    number_of,
    prefix,
)
from gossamer.web.markdown.tables import Grid, grid_of, is_layout

MAX_NESTING: Final = 12  # of lists and quotes; deeper ones are written flat
_LINE_START: Final = re.compile(
    r"(?:(#{1,6})(?=\s|$)|([-+*])(?=\s|$)|(\d{1,9})([.)])(?=\s|$)|(>)|(={2,}|-{2,}|~{3,})$)"
)
_SIGNATURE: Final = re.compile(
    r"(?:^|\s)(?:sig|sig-object|descname|member-signature|method-signature)(?:$|\s)"
)
_SET_APART: Final = re.compile(r"(?:^|\s)(?:admonition(?:block)?|callout|markdown-alert)(?:$|\s)")
_LIKE_HEADING: Final = re.compile(
    r"(?:^|\s)(?:admonition-title|rubric|markdown-alert-title|callout-title)(?:$|\s)"
)
_NOTE_NAMES: Final = re.compile(r"footnote|noteref|fnref|cite_ref|reference")
_NOTE_LABEL: Final = re.compile(r"\[?([0-9]{1,4}|[a-z*†‡])\]?")


@dataclass(frozen=True, slots=True)
class Markdown:
    text: str
    cut: bool


def to_markdown(roots: list[Element], addresses: Addresses, left_out: set[int]) -> Markdown:
    inline = Inline(addresses, left_out, notes_of(roots))
    writer = _MarkdownWriter(inline)
    blocks = [block for root in roots for block in writer.blocks_of(root)]
    return Markdown("\n\n".join(blocks).replace(BREAK, " "), writer.cut)


@dataclass(slots=True)
class _MarkdownWriter:
    inline: Inline
    nesting: int = 0
    cut: bool = False

    def flow(self, nodes: "list[Element | str]") -> list[str]:
        """Write the nodes as blocks, with paragraphs for the text between them."""
        blocks: list[str] = []
        run: list[Element | str] = []
        for node in nodes:
            if isinstance(node, str) or (node.tag not in BLOCKS and not node.blocks):
                run.append(node)
            elif id(node) not in self.inline.left_out:
                blocks += self._paragraphs(run)
                run = []
                blocks += self.blocks_of(node)
        return blocks + self._paragraphs(run)

    def blocks_of(self, element: Element) -> list[str]:
        write = _WRITERS.get(element.tag)
        return write(self, element) if write else self.flow(element.children)

    def _paragraphs(self, run: "list[Element | str]") -> list[str]:
        if not run or (len(run) == 1 and run[0] == " "):
            return []
        text = self.inline.render(run)
        return [lines(part) for part in re.split(f"{BREAK}{{2,}}", text) if part]

    def heading(self, element: Element) -> list[str]:
        text = self.inline.label(element.children)
        if not text:
            return []
        if text.startswith("**") and text.endswith("**") and text.count("**") == 2:
            text = text[2:-2]
        return [f"{'#' * int(element.tag[1])} {text}"]

    def preformatted(self, element: Element) -> list[str]:
        code = code_of(element)
        return [fence(code, language_of(element))] if code else []

    def quote(self, element: Element) -> list[str]:
        blocks = self._nest(element.children)
        return [prefix("\n\n".join(blocks), "> ", "> ")] if blocks else []

    def _nest(self, nodes: "list[Element | str]") -> list[str]:
        self.nesting += 1
        try:
            return self.flow(nodes)
        finally:
            self.nesting -= 1

    def rule(self, element: Element) -> list[str]:
        return ["---"]

    def link(self, element: Element) -> list[str]:
        """Write a link around whole blocks: its first block becomes the link."""
        blocks = self.flow(element.children)
        address = self.inline.addresses.absolute(element.get("href")) if element.get("href") else ""
        if not address or any("](" in block for block in blocks):
            return blocks
        for at, block in enumerate(blocks):
            mark = re.match(r"#{1,6} ", block)
            lead = mark[0] if mark else ""
            if "\n" not in block and not block.startswith(("|", "```", "- ", "> ", "---")):
                blocks[at] = f"{lead}[{block[len(lead) :]}]({destination(address)})"
                break
        return blocks

    def listing(self, element: Element) -> list[str]:
        if self.nesting >= MAX_NESTING:
            self.cut = True
            return self.flow(element.children)
        items = items_of(element)
        notes = [block for item in items for block in self._note(item)]
        if notes:
            return notes
        ordered = element.tag == "ol"
        number = number_of(element.get("start"), 1)
        written: list[tuple[str, list[str]]] = []
        for item in items:
            if id(item) in self.inline.left_out:
                continue
            number = number_of(item.get("value"), number)
            blocks = self._item(item)
            if blocks:
                written.append((f"{number}. " if ordered else "- ", blocks))
                number += 1
        return [join_items(written)] if written else []

    def _item(self, item: Element) -> list[str]:
        box = checkbox_of(item)
        blocks = self._nest(item.children) if item.tag == "li" else self._nest([item])
        if box is not None:
            blocks[:1] = [
                f"[{'x' if 'checked' in box.attributes else ' '}] {blocks[0] if blocks else ''}".rstrip()
            ]
        return blocks

    def _note(self, item: Element) -> list[str]:
        label = self.inline.notes.get(item.get("id"))
        if label is None:
            return []
        blocks = self._nest(item.children)
        return [prefix("\n\n".join(blocks), f"[^{label}]: ", "    ")] if blocks else []

    def division(self, element: Element) -> list[str]:
        """Write a division, which may be a footnote, a callout, or a line that serves as a heading."""
        named = element.get("class")
        if named and _SET_APART.search(named) and self.nesting < MAX_NESTING:
            return self.quote(element)
        if named and _LIKE_HEADING.search(named):
            return self.summary(element)
        return self._note(element) or self.flow(element.children)

    def definitions(self, element: Element) -> list[str]:
        if self.nesting >= MAX_NESTING:
            self.cut = True
            return self.flow(element.children)
        written: list[tuple[str, list[str]]] = []
        for child in entries_of(element):
            if child.tag == "dt":
                term = self._term(child)
                if term:
                    written.append(("- ", [term]))
            elif blocks := self._nest(child.children):
                if written:
                    define(written[-1][1], blocks)
                else:
                    written.append(("- ", blocks))
        return [join_items(written)] if written else []

    def _term(self, element: Element) -> str:
        if _SIGNATURE.search(element.get("class")):
            beside = [one for one in element.walk() if one.tag == "a" and is_self_link(one)]
            text = "".join(_texts_without(element, {id(one) for one in beside}))
            return code_span(" ".join(text.split())) if text.strip() else ""
        text = self.inline.label(element.children)
        if not text or "**" in text or text.startswith(("#", "![")):
            return text
        return text if re.fullmatch(r"`[^`]+`|\[`[^`]+`\]\([^)]*\)", text) else f"**{text}**"

    def table(self, element: Element) -> list[str]:
        code = _code_in(element)
        if code is not None:
            return self.preformatted(code)
        if is_layout(element):
            return self.flow(element.children)
        grid = grid_of(element)
        self.cut = self.cut or grid.cut
        caption = self._paragraphs(list(grid.caption.children)) if grid.caption else []
        return [*caption, *self._grid(grid)]

    def _grid(self, grid: Grid) -> list[str]:
        width = len(grid.header) or (len(grid.rows[0]) if grid.rows else 0)
        rows = [self._row(row, grid) for row in grid.rows]
        rows = [row for row in rows if any(row)]
        header = self._row(grid.header, grid) if grid.header else [""] * width
        if not width or not (rows or any(header)):
            return []
        return ["\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * width, *rows])]

    def _row(self, cells: list[Element | None], grid: Grid) -> list[str]:
        row: list[str] = []
        for at, cell in enumerate(cells):
            again = at > 0 and cells[at - 1] is cell and cell is not None and id(cell) in grid.repeated
            row.append("" if cell is None or again else self._cell(cell))
        return row

    def _cell(self, cell: Element) -> str:
        if not cell.blocks:
            text = self.inline.render(cell.children)
        else:
            text = BREAK.join(_on_one_line(block) for block in self._nest(cell.children))
        text = re.sub(f"{BREAK}+", "<br>", text.replace("\n", " "))
        return re.sub(r"(?<!\\)\|", r"\\|", text)

    def summary(self, element: Element) -> list[str]:
        text = self.inline.label(element.children)
        return (
            [text if "**" in text or text.startswith("#") or element.blocks else f"**{text}**"]
            if text
            else []
        )


_WRITERS: Final[dict[str, Callable[[_MarkdownWriter, Element], list[str]]]] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _MarkdownWriter.heading),
    **dict.fromkeys(("ul", "ol", "menu", "dir"), _MarkdownWriter.listing),
    **dict.fromkeys(("pre", "listing", "xmp"), _MarkdownWriter.preformatted),
    **dict.fromkeys(("p", "div", "aside", "section"), _MarkdownWriter.division),
    "blockquote": _MarkdownWriter.quote,
    "dl": _MarkdownWriter.definitions,
    "table": _MarkdownWriter.table,
    "hr": _MarkdownWriter.rule,
    "a": _MarkdownWriter.link,
    "summary": _MarkdownWriter.summary,
}


def lines(text: str) -> str:
    """Write a paragraph so that no line of it reads as a heading, a list, a quote or a rule."""
    return "  \n".join(
        _LINE_START.sub(_escape_start, line, count=1) if _LINE_START.match(line) else line
        for line in text.split(BREAK)
        if line
    )


def _escape_start(match: re.Match[str]) -> str:
    if match[3]:
        return f"{match[3]}\\{match[4]}"
    return f"\\{match[0]}"


def _texts_without(element: Element, left_out: set[int]) -> list[str]:
    pieces: list[str] = []
    waiting: list[Element | str] = [element]
    while waiting:
        child = waiting.pop()
        if isinstance(child, str):
            pieces.append(child)
        elif id(child) not in left_out:
            waiting.extend(reversed(child.children))
    return pieces


def _code_in(table: Element) -> Element | None:
    """Return the code of a table that only puts line numbers beside it."""
    cells = [one for one in table.walk() if one.tag == "td"]
    code = [cell for cell in cells if cell.find("pre") is not None]
    if (
        not code
        or len(cells) != 2
        or ("highlight" not in table.get("class") and "code" not in cells[-1].get("class"))
    ):
        return None
    return cells[-1].find("pre")


def _on_one_line(block: str) -> str:
    """Write a block on one line, for the cell of a table."""
    if block.startswith("```"):
        return BREAK.join(code_span(line) if line.strip() else "" for line in block.split("\n")[1:-1])
    return re.sub(r"^- ", "• ", block, flags=re.M).replace("\n", BREAK)


# Footnotes.


def notes_of(roots: list[Element]) -> dict[str, str]:
    """Return the labels of footnotes by id, for those that exist and are referred to."""
    labels: dict[str, str] = {}
    ids: set[str] = set()
    for root in roots:
        for element in root.walk():
            if element.tag == "a" and element.get("href").startswith("#") and element.text < 8:
                label = _NOTE_LABEL.fullmatch(element.plain())
                if label and _refers_to_note(element):
                    labels.setdefault(element.get("href")[1:], label[1])
            elif element.tag in ("li", "p", "div", "aside", "section") and element.get("id"):
                ids.add(element.get("id"))
    return {target: label for target, label in labels.items() if target in ids}


def _refers_to_note(anchor: Element) -> bool:
    if anchor.get("role") == "doc-noteref" or _NOTE_NAMES.search(anchor.get("class")):
        return True
    return anchor.within("sup")
