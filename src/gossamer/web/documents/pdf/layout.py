"""Layout: the rows of a page in the order in which they are read, column after column, without what every
page repeats.

A page is split at a gutter that has prose on both sides; what lies across it, such as a title, divides the
columns above it from those below. A table has gutters too, but its cells are shorter than lines of prose.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

import msgspec

from gossamer.web.documents.pdf.fragments import Fragment, PdfPageLayout
from gossamer.web.documents.pdf.markers import is_marker

SAME_ROW: Final = 0.4  # of the size: between the baselines of one row
MIN_REPEATS: Final = 3  # pages
MARGIN: Final = 0.15  # of the height, at the top and at the bottom
MARGIN_ROWS: Final = 2
NUMBER_ROOM: Final = 1.6  # sizes around the number of a page
RISE: Final = 3.0  # sizes from the end of a column to the beginning of the next
MAX_SPLITS: Final = 2  # nested, so there are four columns at most
STRIPS: Final = 120  # into which the width is divided to find a gutter
MIN_LINES: Final = 8  # of a column
MIN_CHARS: Final = 20  # of a line of prose
MIN_FILLED: Final = 0.4  # of the width of a column
MAX_ACROSS: Final = 0.5  # of the fragments

LEADER: Final = re.compile(r" ?(?:[.·…] ?){4,}")  # from a title to its page, in a table of contents
_DOTS: Final = ("..", ". .", "··", "· ·", "……")
_DIGITS: Final = re.compile(r"\d+|\b[ivxlc]+\b")


class Row(msgspec.Struct, gc=False):
    """What stands on one baseline, from left to right."""

    fragments: list[Fragment]
    text: str
    baseline: float
    left: float
    right: float
    size: float
    is_bold: bool
    is_fixed: bool
    has_leader: bool

    @property
    def is_hyphenated(self) -> bool:
        return self.fragments[-1].hyphenated

    @property
    def is_mixed(self) -> bool:
        """Whether its fragments were not written one after the other, so it may be no line at all."""
        if len(self.fragments) == 1:
            return False
        orders = [fragment.order for fragment in self.fragments]
        return any(after != before + 1 for before, after in pairwise(orders))


class Region(msgspec.Struct):
    """A column, or a part of a page without columns."""

    rows: list[Row]
    left: float
    right: float


def regions_of(fragments: Sequence[Fragment]) -> list[Region]:
    return [_region(part) for part in _split(sorted(fragments, key=_from_top), MAX_SPLITS)]


def written_regions_of(fragments: Sequence[Fragment]) -> list[Region]:
    """Return the regions in the order in which they were written. Each begins far above the last line."""
    parts: list[list[Fragment]] = []
    for fragment in fragments:
        rise = fragment.baseline - parts[-1][-1].baseline if parts else math.inf
        if rise > RISE * fragment.size:
            parts.append([])
        parts[-1].append(fragment)
    return [_region(sorted(part, key=_from_top)) for part in parts]


def _from_top(fragment: Fragment) -> tuple[float, float]:
    return -fragment.baseline, fragment.left


def _region(fragments: list[Fragment]) -> Region:
    rows = _rows(fragments)
    return Region(rows, min(row.left for row in rows), max(row.right for row in rows))


def _rows(fragments: Iterable[Fragment]) -> list[Row]:
    rows: list[list[Fragment]] = []
    for fragment in fragments:
        if rows and rows[-1][0].baseline - fragment.baseline < SAME_ROW * min(
            rows[-1][0].size, fragment.size
        ):
            rows[-1].append(fragment)
        else:
            rows.append([fragment])
    return [_row(row) for row in rows]


def _row(fragments: list[Fragment]) -> Row:
    fragments.sort(key=lambda fragment: fragment.left)
    if len(fragments) > 1 and is_marker(fragments[0].text):
        fragments[:2] = [_join(*fragments[:2])]
    main = max(fragments, key=lambda fragment: len(fragment.text)) if len(fragments) > 1 else fragments[0]
    text = " ".join([fragment.text for fragment in fragments])
    return Row(
        fragments=fragments,
        text=text,
        baseline=main.baseline,
        left=fragments[0].left,
        right=max([fragment.right for fragment in fragments]),
        size=main.size,
        is_bold=all(fragment.bold for fragment in fragments),
        is_fixed=all(fragment.fixed for fragment in fragments),
        has_leader=any(dots in text for dots in _DOTS) and LEADER.search(text) is not None,
    )


def _join(marker: Fragment, item: Fragment) -> Fragment:
    """Put the bullet of a list before its item: they are no columns."""
    return msgspec.structs.replace(item, text=f"{marker.text} {item.text}", left=marker.left)


# Columns.


def _split(fragments: list[Fragment], depth: int) -> list[list[Fragment]]:
    gutter = _gutter(fragments) if depth else None
    if gutter is None:
        return [fragments] if fragments else []
    parts: list[list[Fragment]] = []
    left: list[Fragment] = []
    right: list[Fragment] = []
    across: list[Fragment] = []
    for fragment in fragments:
        if fragment.right <= gutter or fragment.left >= gutter:
            parts += [across] if across else []
            across = []
            (left if fragment.right <= gutter else right).append(fragment)
        else:
            parts += [*_split(left, depth - 1), *_split(right, depth - 1)]
            left, right = [], []
            across.append(fragment)
    return [*parts, *([across] if across else []), *_split(left, depth - 1), *_split(right, depth - 1)]


def _gutter(fragments: Sequence[Fragment]) -> float | None:
    """Return where to split into columns; None if it is one column."""
    if len(fragments) < 2 * MIN_LINES:
        return None
    start, end = min(one.left for one in fragments), max(one.right for one in fragments)
    strip = max((end - start) / STRIPS, 0.01)
    middle = _emptiest(_coverage(fragments, start, strip))
    x = start + (middle + 0.5) * strip
    left = [one for one in fragments if one.right <= x]
    right = [one for one in fragments if one.left >= x]
    across = len(fragments) - len(left) - len(right)
    if across <= MAX_ACROSS * len(fragments) and _is_prose(left, start, x) and _is_prose(right, x, end):
        return x
    return None


def _coverage(fragments: Sequence[Fragment], start: float, strip: float) -> list[int]:
    """Count the fragments over each strip."""
    changes = [0] * (STRIPS + 2)
    for one in fragments:
        changes[max(0, int((one.left - start) / strip))] += 1
        changes[min(STRIPS + 1, int((one.right - start) / strip) + 1)] -= 1
    counts, count = [], 0
    for change in changes:
        count += change
        counts.append(count)
    return counts


def _emptiest(counts: Sequence[int]) -> int:
    """Return the middle of the strips with the fewest fragments, away from the edges."""
    inner = range(STRIPS // 5, STRIPS * 4 // 5)
    least = min(counts[at] for at in inner)
    first = next(at for at in inner if counts[at] == least)
    last = next((at for at in range(first, inner.stop) if counts[at] != least), inner.stop) - 1
    return (first + last) // 2


def _is_prose(fragments: Sequence[Fragment], left: float, right: float) -> bool:
    if len(fragments) < MIN_LINES:
        return False
    filled = median(one.right - one.left for one in fragments) / max(right - left, 0.01)
    return filled >= MIN_FILLED and median(len(one.text) for one in fragments) >= MIN_CHARS


# Running heads and feet.

_Place = tuple[int, str]  # the baseline, and the text without its numbers


def remove_running(pages: Sequence[PdfPageLayout]) -> list[list[Fragment]]:
    """Return the fragments of each page without heads, feet and page numbers."""
    if len(pages) < MIN_REPEATS:
        return [page.fragments for page in pages]
    margins = [_margins(page) for page in pages]
    counts = Counter(place for margin in margins for place in margin)
    running = {place for place, count in counts.items() if count >= MIN_REPEATS}
    return [
        _without_rows(page.fragments, {baseline for baseline, _ in margin & running})
        for page, margin in zip(pages, margins, strict=True)
    ]


def _without_rows(fragments: list[Fragment], baselines: set[int]) -> list[Fragment]:
    return [one for one in fragments if round(one.baseline) not in baselines] if baselines else fragments


def _margins(page: PdfPageLayout) -> set[_Place]:
    """Return what stands in the first and last rows of a page."""
    rows: dict[int, list[Fragment]] = {}
    for fragment in page.fragments:
        rows.setdefault(round(fragment.baseline), []).append(fragment)
    baselines = sorted(rows)
    feet = [y for y in baselines[:MARGIN_ROWS] if y < page.height * MARGIN]
    heads = [y for y in baselines[-MARGIN_ROWS:] if y > page.height * (1 - MARGIN)]
    places = {(y, _DIGITS.sub("0", one.text)) for y in (*feet, *heads) for one in rows[y]}
    return {
        (y, text) for y, text in places if not text.isdecimal() or _is_alone(y, baselines, rows[y][0].size)
    }


def _is_alone(baseline: int, baselines: Sequence[int], size: float) -> bool:
    """Whether there is room around a row. A number without it may be in a table."""
    return all(y == baseline or abs(y - baseline) > NUMBER_ROOM * size for y in baselines)
