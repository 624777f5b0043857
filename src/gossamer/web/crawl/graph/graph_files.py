"""The graph of a crawl as files for other programs: CSV, GraphML, Parquet.

A file is written in pieces, so that it never is in memory as a whole.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, Protocol
from xml.sax.saxutils import quoteattr

from gossamer.web.crawl.graph.crawl_graph import GraphLink
from gossamer.web.crawl.graph.graph_answer import GraphNode
from gossamer.web.crawl.page_table import harmless

GraphFormat = Literal["csv", "graphml", "parquet"]
GraphPart = Literal["links", "pages"]
MEDIA_TYPES: Final[dict[GraphFormat, str]] = {
    "csv": "text/csv",
    "graphml": "application/graphml+xml",
    "parquet": "application/vnd.apache.parquet",
}
# The columns, and how each is called and typed in GraphML and Parquet.
LINK_COLUMNS: Final = {"from": "string", "to": "string", "text": "string", "rel": "string", "place": "string"}
PAGE_COLUMNS: Final = {
    "pageId": "string",
    "url": "string",
    "title": "string",
    "statusCode": "int",
    "outcome": "string",
    "depth": "int",
    "inlinks": "int",
    "outlinks": "int",
    "outsideLinks": "int",
    "pageRank": "double",
    "hub": "double",
    "authority": "double",
}
_CONTROL: Final = {code: None for code in range(32) if chr(code) not in "\t\n\r"} | {
    0xFFFE: None,
    0xFFFF: None,
}

Row = Sequence[Any]


class GraphFile(Protocol):
    """A file that rows are added to; each call returns the bytes that are ready."""

    def begin(self) -> bytes: ...
    def add_pages(self, nodes: Iterable[GraphNode]) -> bytes: ...
    def add_links(self, links: Iterable[GraphLink]) -> bytes: ...
    def end(self) -> bytes: ...


def page_row(node: GraphNode) -> Row:
    return (
        node.page_id,
        node.url,
        node.title or "",
        node.status_code,
        node.outcome,
        node.depth,
        node.inlinks,
        node.outlinks,
        node.outside_links,
        node.page_rank,
        node.hub,
        node.authority,
    )


def link_row(found: GraphLink) -> Row:
    link = found.link
    return found.source.url, link.url, link.text, " ".join(link.rel), link.place.name.lower()


class CsvFile:
    """One table: the pages, or the links."""

    def __init__(self, part: GraphPart) -> None:
        self._part = part

    def begin(self) -> bytes:
        return _csv([list(LINK_COLUMNS if self._part == "links" else PAGE_COLUMNS)])

    def add_pages(self, nodes: Iterable[GraphNode]) -> bytes:
        return _csv(map(page_row, nodes)) if self._part == "pages" else b""

    def add_links(self, links: Iterable[GraphLink]) -> bytes:
        return _csv(map(link_row, links)) if self._part == "links" else b""

    def end(self) -> bytes:
        return b""


def _csv(rows: Iterable[Row]) -> bytes:
    lines = io.StringIO()
    csv.writer(lines).writerows([[harmless(value) for value in row] for row in rows])
    return lines.getvalue().encode("utf-8", "replace")


class GraphMlFile:
    """Pages as nodes and links as edges. The target of a link that the crawl has not fetched is a node with
    nothing but its URL."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def begin(self) -> bytes:
        keys = [*_keys("node", PAGE_COLUMNS), *_keys("edge", _EDGE_COLUMNS)]
        return "\n".join([_XML, *keys, '<graph id="crawl" edgedefault="directed">', ""]).encode()

    def add_pages(self, nodes: Iterable[GraphNode]) -> bytes:
        lines = []
        for node in nodes:
            self._known.add(node.url)
            values = _data(dict(zip(PAGE_COLUMNS, page_row(node), strict=True)))
            lines.append(f"<node id={_quoted(node.url)}>{values}</node>\n")
        return "".join(lines).encode("utf-8", "replace")

    def add_links(self, links: Iterable[GraphLink]) -> bytes:
        lines = []
        for found in links:
            source, target, *values = link_row(found)
            if target not in self._known:
                self._known.add(target)
                lines.append(f"<node id={_quoted(target)}>{_data({'url': target})}</node>\n")
            data = _data(dict(zip(_EDGE_COLUMNS, values, strict=True)))
            lines.append(f"<edge source={_quoted(source)} target={_quoted(target)}>{data}</edge>\n")
        return "".join(lines).encode("utf-8", "replace")

    def end(self) -> bytes:
        return b"</graph>\n</graphml>\n"


_EDGE_COLUMNS: Final = {name: LINK_COLUMNS[name] for name in ("text", "rel", "place")}
_XML: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
)


def _keys(kind: str, columns: dict[str, str]) -> Iterator[str]:
    for name, type_ in columns.items():
        yield f'<key id="{name}" for="{kind}" attr.name="{name}" attr.type="{type_}"/>'


def _data(values: dict[str, Any]) -> str:
    return "".join(
        f'<data key="{name}">{_text(value)}</data>'
        for name, value in values.items()
        if value not in ("", None)
    )


def _text(value: object) -> str:
    text = str(value).translate(_CONTROL)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(value: str) -> str:
    return quoteattr(value.translate(_CONTROL))
