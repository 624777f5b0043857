"""OpenDocument: texts, sheets and slides, by the names of their elements."""

from typing import Final
from xml.etree.ElementTree import Element

from gossamer.web.documents.office.converted import MAX_HTML_CHARS, Converted, escape
from gossamer.web.documents.office.package import Package, attribute, find_all, local, text_of
from gossamer.web.html.vocabulary import tags

MAX_DEPTH: Final = 200
MAX_REPEATED: Final = 100  # equal cells, one after the other
MAX_CELLS: Final = 50_000
_SKIPPED: Final = tags(
    "sequence-decls tracked-changes annotation bookmark forms note-citation settings table-source handout"
)
_INLINE: Final = {"s": " ", "tab": " ", "line-break": "<br>"}
_TAGS: Final = {
    "p": "p",
    "list": "ul",
    "list-item": "li",
    "list-header": "li",
    "table-header-rows": "thead",
    "page": "section",
    "section": "section",
    "notes": "blockquote",
}


def convert_odf(package: Package) -> Converted:
    content, about = package.xml("content.xml"), package.xml("meta.xml")
    body = next(find_all(content, "body"), None)
    writer = _OdfWriter()
    if body is not None:
        writer.write(body, 0)
    html = "".join(writer.parts)
    return Converted(
        html=html[:MAX_HTML_CHARS],
        title=text_of(about, "title"),
        author=text_of(about, "initial-creator") or text_of(about, "creator"),
        description=text_of(about, "description") or text_of(about, "subject"),
        created=text_of(about, "creation-date") or text_of(about, "date"),
        language=text_of(about, "language"),
        page_count=sum(1 for _ in find_all(body, "page")) or None,
        complete=writer.complete and len(html) <= MAX_HTML_CHARS,
    )


class _OdfWriter:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.complete = True
        self._cells = MAX_CELLS
        self._cell_tag = "td"

    def write(self, element: Element, depth: int) -> None:
        name = local(element)
        if depth > MAX_DEPTH:
            self.complete = False
        elif name in _INLINE:
            self.parts.append(_INLINE[name])
        elif name in _TAGS:
            self._wrap(element, _TAGS[name], depth)
        elif name not in _SKIPPED:
            self._write_special(element, name, depth)

    def _write_special(self, element: Element, name: str, depth: int) -> None:
        match name:
            case "h":
                self._wrap(element, f"h{_level(element)}", depth)
            case "a":
                self._wrap(element, "a", depth, f' href="{escape(attribute(element, "href"))}"')
            case "note":
                self._note(element)
            case "table":
                self._table(element, depth)
            case "table-row":
                self._wrap(element, "tr", depth)
                self._cell_tag = "td"
            case "table-cell" | "covered-table-cell":
                self._cell(element, depth)
            case _:
                self._inside(element, depth)

    def _wrap(self, element: Element, tag: str, depth: int, attributes: str = "") -> None:
        self.parts.append(f"<{tag}{attributes}>")
        self._inside(element, depth)
        self.parts.append(f"</{tag}>")

    def _inside(self, element: Element, depth: int) -> None:
        self.parts.append(escape(element.text or ""))
        for child in element:
            self.write(child, depth + 1)
            self.parts.append(escape(child.tail or ""))

    def _table(self, element: Element, depth: int) -> None:
        """A sheet has a name that people see, and a header; the table of a text has not."""
        name = attribute(element, "name")
        if depth <= 2 and name:
            self.parts.append(f"<h2>{escape(name)}</h2>")
            self._cell_tag = "th"
        self._wrap(element, "table", depth)

    def _cell(self, element: Element, depth: int) -> None:
        """Equal cells are stored once, with their number; long runs of empty ones only fill the sheet."""
        count = attribute(element, "number-columns-repeated")
        times = min(MAX_REPEATED, int(count)) if count.isdecimal() else 1
        if times == MAX_REPEATED and not "".join(element.itertext()).strip():
            return
        for _ in range(times):
            self._cells -= 1
            if self._cells < 0:
                self.complete = False
                return
            self._wrap(element, self._cell_tag, depth)

    def _note(self, element: Element) -> None:
        """A footnote stands in brackets where it is referred to."""
        body = next(find_all(element, "note-body"), None)
        said = " ".join("".join(body.itertext()).split()) if body is not None else ""
        self.parts.append(f" ({escape(said)})" if said else "")


def _level(heading: Element) -> int:
    level = attribute(heading, "outline-level")
    return max(1, min(6, int(level))) if level.isdecimal() else 2
