"""Write the content as GitHub-flavoured Markdown, with the structure of the page."""

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from gossamer.web.html.elements.element import BLOCKS, Element
from gossamer.web.html.links import Addresses
from gossamer.web.markdown.emphasis import BREAK
from gossamer.web.markdown.escape import escape, escape_heading, escape_line, escape_pipes
from gossamer.web.markdown.fences import code_of, fence, language_of
from gossamer.web.markdown.inline import Inline, code_span, destination, is_self_link
from gossamer.web.markdown.lists import (
    ListItem,
    checkbox_of,
    define,
    entries_of,
    items_of,
    join_blocks,
    join_items,
    number_of,
    prefix,
)
from gossamer.web.markdown.notes.notes import Note, Notes, notes_of
from gossamer.web.markdown.tables import Grid, grid_of, is_layout, rules_of

MAX_NESTING: Final = 12  # of lists and quotes; deeper ones are written flat
_WRITTEN_LABEL: Final = re.compile(r"\^\s+|\\?[\[(](?:\d{1,4}|[a-z*†‡])\\?[\])][.:]?\s+|\d{1,4}\\?[.:)]\s+")
_SIGNATURE: Final = re.compile(
    r"(?:^|\s)(?:sig|sig-object|descname|member-signature|method-signature)(?:$|\s)"
)
_SOURCES: Final = frozenset(("footer", "cite", "figcaption", "p", "small"))
_SET_APART: Final = re.compile(r"(?:^|\s)(?:admonition(?:block)?|callout|markdown-alert)(?:$|\s)")
_LIKE_HEADING: Final = re.compile(
    r"(?:^|\s)(?:admonition-title|rubric|markdown-alert-title|callout-title)(?:$|\s)"
)


class Markdown(Struct, frozen=True):
    text: str
    cut: bool


def to_markdown(roots: list[Element], addresses: Addresses, left_out: set[int]) -> Markdown:
    notes = notes_of(roots)
    inline = Inline(addresses, left_out | notes.left_out if notes.left_out else left_out, notes.marks)
    writer = _MarkdownWriter(inline, notes)
    blocks = [block for root in roots for block in writer.blocks_of(root)]
    blocks += writer.other_notes()
    return Markdown(join_blocks(blocks).replace(BREAK, " "), writer.cut)


class _MarkdownWriter(Struct):
    inline: Inline
    notes: Notes
    written: set[str] = field(default_factory=set)  # labels of notes
    nesting: int = 0
    cut: bool = False

    def flow(self, nodes: "Sequence[Element | str | Note]") -> list[str]:
        """Write the nodes as blocks, with paragraphs for the text between them."""
        blocks: list[str] = []
        run: list[Element | str] = []
        for node in nodes:
            if isinstance(node, Note):
                blocks += self._paragraphs(run) + self._note(node)
                run = []
            elif isinstance(node, str) or (node.tag not in BLOCKS and not node.blocks):
                run.append(node)
            elif id(node) not in self.inline.left_out:
                blocks += self._paragraphs(run)
                run = []
                blocks += self.blocks_of(node)
        return blocks + self._paragraphs(run)

    def blocks_of(self, element: Element) -> list[str]:
        if self.notes.parts and (parts := self.notes.parts.get(id(element))) is not None:
            return self.flow(parts)
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
        return [f"{'#' * int(element.tag[1])} {escape_heading(text)}"]

    def preformatted(self, element: Element) -> list[str]:
        code = code_of(element)
        return [fence(code, language_of(element))] if code else []

    def quote(self, element: Element) -> list[str]:
        blocks = self._nest(self._with_source(element))
        if (
            blocks
            and (source := self.inline.addresses.absolute(element.get("cite")))
            and source.startswith("http")
        ):
            said = any(f"]({destination(source)}" in block for block in blocks)
            blocks += [] if said else [f"— [{escape(urlsplit(source).netloc)}]({destination(source)})"]
        return [prefix(join_blocks(blocks), "> ", "> ")] if blocks else []

    def _with_source(self, quote: Element) -> "list[Element | str]":
        """Return the children; the footer of a quote tells its source, and is no footer of the page."""
        left_out = self.inline.left_out
        nodes: list[Element | str] = []
        for child in quote.children:
            is_source = not isinstance(child, str) and id(child) in left_out and child.tag in _SOURCES
            nodes += [_copy(child)] if is_source and not isinstance(child, str) else [child]
        return nodes

    def _nest(self, nodes: "Sequence[Element | str]") -> list[str]:
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
        notes = [block for item in items if id(item) in self.notes.parts for block in self.blocks_of(item)]
        ordered = element.tag == "ol"
        number = number_of(element.get("start"), 1)
        written: list[ListItem] = []
        for item in items:
            if id(item) in self.inline.left_out or id(item) in self.notes.parts:
                continue
            number = number_of(item.get("value"), number)
            blocks = self._item(item)
            if blocks or not item.children:
                marker = f"{number}. " if ordered else "- "
                written.append(ListItem(marker, blocks, any(one.tag == "p" for one in item.elements)))
                number += 1
        return [*([join_items(written)] if any(item.blocks for item in written) else []), *notes]

    def _item(self, item: Element) -> list[str]:
        box = checkbox_of(item)
        blocks = self._nest(item.children) if item.tag == "li" else self._nest([item])
        if box is not None:
            blocks[:1] = [
                f"[{'x' if 'checked' in box.attributes else ' '}] {blocks[0] if blocks else ''}".rstrip()
            ]
        return blocks

    def _note(self, note: Note) -> list[str]:
        if note.label in self.written:
            return []
        self.written.add(note.label)
        blocks = self._nest(note.nodes)
        if blocks:
            blocks[0] = _WRITTEN_LABEL.sub("", blocks[0], count=1)
        return [prefix(join_blocks(blocks), f"[^{note.label}]: ", "    ")] if blocks else []

    def other_notes(self) -> list[str]:
        """Write the notes that are beside the text, or outside of the content."""
        found: list[str] = []
        while missing := sorted(self.inline.used - self.written, key=lambda label: (len(label), label)):
            found += [block for label in missing for block in self._note(self.notes.by_label[label])]
        return found

    def division(self, element: Element) -> list[str]:
        """Write a division, which may be a callout, or a line that serves as a heading."""
        named = element.get("class")
        if named and _SET_APART.search(named) and self.nesting < MAX_NESTING:
            return self.quote(element)
        if named and _LIKE_HEADING.search(named):
            return self.summary(element)
        return self.flow(element.children)

    def definitions(self, element: Element) -> list[str]:
        if self.nesting >= MAX_NESTING:
            self.cut = True
            return self.flow(element.children)
        written: list[ListItem] = []
        for child in entries_of(element):
            if child.tag == "dt":
                term = self._term(child)
                if term:
                    written.append(ListItem("- ", [term]))
            elif blocks := self._nest(child.children):
                if written:
                    define(written[-1].blocks, blocks)
                else:
                    written.append(ListItem("- ", blocks))
        return [join_items(written)] if written else []

    def _term(self, element: Element) -> str:
        if _SIGNATURE.search(element.get("class")):
            beside = [one for one in element.walk() if one.tag == "a" and is_self_link(one)]
            text = element.words_without({id(one) for one in beside})
            return code_span(text) if text else ""
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
        return ["\n".join(f"| {' | '.join(row)} |" for row in [header, rules_of(grid), *rows])]

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
        return escape_pipes(text)

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
    return "  \n".join(escape_line(line) for line in text.split(BREAK) if line)


def _copy(element: Element) -> Element:
    """Return the same element under an id of its own."""
    copy = Element(element.tag, element.attributes, element.parent)
    copy.children, copy.blocks, copy.text = element.children, element.blocks, element.text
    return copy


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
