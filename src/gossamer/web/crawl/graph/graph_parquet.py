"""The graph of a crawl as a Parquet file, written group by group with pyarrow, which is an extra."""

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Final

from gossamer.problems import UNPROCESSABLE_ENTITY, Problem
from gossamer.web.crawl.graph.crawl_graph import GraphLink
from gossamer.web.crawl.graph.graph_answer import GraphNode
from gossamer.web.crawl.graph.graph_files import (
    LINK_COLUMNS,
    PAGE_COLUMNS,
    GraphPart,
    Row,
    link_row,
    page_row,
)
from gossamer.web.outgoing_file import OutgoingFile

ROWS_IN_GROUP: Final = 50_000
NOT_INSTALLED: Final = "parquet_not_installed"


def check_parquet() -> None:
    """Raises `Problem` if this server cannot write it."""
    if find_spec("pyarrow") is None:
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "This server cannot write Parquet, because pyarrow is not installed.",
            hint="Ask for `csv`, or install it: pip install 'gossamer[parquet]'.",
            details={"reason": NOT_INSTALLED},
        )


class ParquetFile:
    """One table: the pages, or the links."""

    def __init__(self, part: GraphPart) -> None:
        import pyarrow as pa  # an extra
        import pyarrow.parquet as pq

        types = {"string": pa.string(), "int": pa.int64(), "double": pa.float64()}
        columns = LINK_COLUMNS if part == "links" else PAGE_COLUMNS
        self._part = part
        self._table = pa.Table.from_arrays
        self._array = pa.array
        self._schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
        self._sink = OutgoingFile()
        self._writer = pq.ParquetWriter(self._sink, self._schema, compression="zstd")
        self._rows: list[Row] = []

    def begin(self) -> bytes:
        return self._sink.take()

    def add_pages(self, nodes: Iterable[GraphNode]) -> bytes:
        return self._add(map(page_row, nodes)) if self._part == "pages" else b""

    def add_links(self, links: Iterable[GraphLink]) -> bytes:
        return self._add(map(link_row, links)) if self._part == "links" else b""

    def end(self) -> bytes:
        self._write()
        self._writer.close()
        return self._sink.take()

    def _add(self, rows: Iterable[Row]) -> bytes:
        self._rows.extend(rows)
        if len(self._rows) >= ROWS_IN_GROUP:
            self._write()
        return self._sink.take()

    def _write(self) -> None:
        columns = list(zip(*self._rows, strict=True)) or [() for _ in self._schema]
        arrays = [
            self._array(_stored(values), type=field.type)
            for values, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(self._table(arrays, schema=self._schema))
        self._rows = []


def _stored(values: Iterable[Any]) -> list[Any]:
    """Lone surrogates are no Unicode."""
    return [
        value.encode("utf-8", "replace").decode() if isinstance(value, str) else value for value in values
    ]
