"""How PostgreSQL stores rows and B-trees: bytes, levels, pages touched, WAL. Arithmetic, no database.

The layout is the documented one: pages of 8 kB, tuples aligned to 8 bytes, a line pointer of 4 for each, text
with a byte of length in front. How full leaves become depends on the order of inserts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PAGE: Final = 8192
ROOM: Final = 8168  # of a page without its header
POINTER: Final = 4
HEAP_HEADER: Final = 23
INDEX_HEADER: Final = 8
RECORD: Final = 60  # of a WAL record beside the tuple: its header, the block reference, the offset

# Shares of a leaf that are used.
RANDOM: Final = 0.69  # hashes: ln 2, where splits find leaves at any fill
GROUPS: Final = 0.53  # ascending in each of many groups: splits leave halves behind. Fitted to the bench


@dataclass(frozen=True, slots=True)
class Text:
    length: float


@dataclass(frozen=True, slots=True)
class Number:
    bytes: int


Column = Text | Number


def packed(columns: Sequence[Column]) -> float:
    """Bytes of the columns in their order, with what alignment leaves empty."""
    at = 0.0
    for column in columns:
        if isinstance(column, Text):
            at += column.length + (1 if column.length < 127 else 4)
        else:
            at = _aligned(at, column.bytes) + column.bytes
    return at


@dataclass(frozen=True, slots=True)
class Heap:
    columns: Sequence[Column]
    nulls: int = 0  # columns that are NULL, and only in the bitmap

    @property
    def tuple_bytes(self) -> float:
        bitmap = (len(self.columns) + self.nulls + 7) // 8 if self.nulls else 0
        return _aligned(HEAP_HEADER + bitmap, 8) + _aligned(packed(self.columns), 8) + POINTER

    def pages(self, rows: float) -> float:
        return math.ceil(rows / (ROOM // self.tuple_bytes))


@dataclass(frozen=True, slots=True)
class Tree:
    columns: Sequence[Column]
    fill: float
    share: float = 1.0  # of the rows that are in it

    @property
    def tuple_bytes(self) -> float:
        return _aligned(INDEX_HEADER + packed(self.columns), 8) + POINTER

    @property
    def in_page(self) -> float:
        return ROOM * self.fill / self.tuple_bytes

    def levels(self, rows: float) -> list[int]:
        """Pages of each level, leaves first. An insert touches one page of each."""
        pages = [math.ceil(max(1.0, rows * self.share) / self.in_page)]
        while pages[-1] > 1:
            pages.append(math.ceil(pages[-1] / self.in_page))
        return pages

    def bytes(self, rows: float) -> float:
        return (sum(self.levels(rows)) + 1) * PAGE  # and one that says where the root is

    def leaves_changed(self, rows: float, inserts: float) -> float:
        """How many different leaves so many inserts at random places change."""
        return _different(self.levels(rows)[0], inserts * self.share)


@dataclass(frozen=True, slots=True)
class Table:
    heap: Heap
    trees: Sequence[Tree]

    def bytes(self, rows: float) -> float:
        return self.heap.pages(rows) * PAGE + self.index_bytes(rows)

    def index_bytes(self, rows: float) -> float:
        return sum(tree.bytes(rows) for tree in self.trees)

    def insert_wal(self, rows: float, between_checkpoints: float) -> float:
        """Bytes of WAL for one insert. The first change of a page after a checkpoint writes all of its used
        part; `between_checkpoints` is how many inserts share that. New heap pages are never written so."""
        records = self.heap.tuple_bytes + RECORD
        records += sum((tree.tuple_bytes + RECORD) * tree.share for tree in self.trees)
        leaves = sum(tree.leaves_changed(rows, between_checkpoints) * tree.fill for tree in self.trees)
        return records + leaves * ROOM / between_checkpoints

    def update_wal(self, rows: float, between_checkpoints: float) -> float:
        """The same for one update of an indexed column: as an insert, and the page of the old row."""
        old = _different(self.heap.pages(rows), between_checkpoints)
        return self.insert_wal(rows, between_checkpoints) + old * ROOM / between_checkpoints


def missing(working_set: float, memory: float) -> float:
    """The share of random accesses that memory does not hold."""
    return max(0.0, 1 - memory / working_set)


def _different(pages: float, choices: float) -> float:
    """How many pages so many random choices hit."""
    return pages * -math.expm1(-choices / pages)


def _aligned(at: float, to: int) -> float:
    return math.ceil(at / to) * to
