"""TextDiff: two texts line by line. Every difference is a change, or has the noise that explains it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.web.monitors.diff.sequence_diff import edits
from gossamer.web.monitors.noise.masks import unit_tolerates
from gossamer.web.monitors.noise.noise_kind import NoiseKind, NoiseOptions
from gossamer.web.monitors.noise.noise_lines import ComparedLine, SeenText, compared_lines, rest_keys

SIMILAR: Final = 0.5  # share of words; a line that has become another one is shown as one changed line
MAX_PAIRED: Final = 60  # lines of a hunk that are compared with each other


class RowKind(StrEnum):
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class DiffRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of both texts, or of one of them."""

    kind: RowKind
    old: str | None = None
    new: str | None = None
    noise: tuple[NoiseKind, ...] = ()  # why the difference means nothing

    @property
    def is_change(self) -> bool:
        return self.kind is not RowKind.SAME and not self.noise

    @property
    def is_ignored(self) -> bool:
        return bool(self.noise)


class TextDiff(Struct, frozen=True):
    rows: tuple[DiffRow, ...]

    @property
    def changes(self) -> tuple[DiffRow, ...]:
        return tuple(row for row in self.rows if row.is_change)

    @property
    def ignored(self) -> tuple[DiffRow, ...]:
        return tuple(row for row in self.rows if row.is_ignored)


def diff_texts(old: SeenText, new: SeenText, options: NoiseOptions) -> TextDiff:
    before, after = compared_lines(old, new, options)
    context = _Context(
        elapsed=new.seen_at - old.seen_at,
        moved=_Moved(before, after) if options.order else None,
        rests=(_Rest(old, options), _Rest(new, options)),
    )
    rows: list[DiffRow] = []
    for edit in edits([line.key for line in before], [line.key for line in after]):
        gone, come = [before[at] for at in edit.old], [after[at] for at in edit.new]
        if edit.kind == "equal":
            rows += [_equal_row(*pair, context.elapsed) for pair in zip(gone, come, strict=True)]
        else:
            rows += _replaced_rows(gone, come, context)
    return TextDiff(tuple(rows))


class _Rest:
    """The lines around a text, masked when somebody asks for them: most texts have not changed."""

    def __init__(self, seen: SeenText, options: NoiseOptions) -> None:
        self._seen = seen
        self._options = options

    @cached_property
    def keys(self) -> frozenset[str]:
        return rest_keys(self._seen, self._options)


class _Moved:
    """Lines that one text has elsewhere than the other."""

    def __init__(self, before: Sequence[ComparedLine], after: Sequence[ComparedLine]) -> None:
        old, new = Counter(line.key for line in before), Counter(line.key for line in after)
        self._surplus = (old - new, new - old)

    def is_moved(self, key: str, side: int) -> bool:
        """Ask once for each line that has no partner in its place."""
        if self._surplus[side][key] > 0:
            self._surplus[side][key] -= 1
            return False
        return True


class _Context(Struct, frozen=True):
    elapsed: float  # seconds
    moved: _Moved | None  # None: the order matters
    rests: tuple[_Rest, _Rest]

    def noise_of(self, line: ComparedLine, side: int) -> NoiseKind | None:
        """Why a line that only one of the texts has, here, means nothing. `side` is 0 for the old one."""
        if line.ignored is not None:
            return line.ignored
        if self.moved is not None and self.moved.is_moved(line.key, side):
            return NoiseKind.ORDER
        return NoiseKind.BESIDE if line.key in self.rests[1 - side].keys else None


def _equal_row(old: ComparedLine, new: ComparedLine, elapsed: float) -> DiffRow:
    """Lines with one key: equal but for noise."""
    if old.text == new.text:
        return DiffRow(RowKind.SAME, old.text, new.text)
    block = old.ignored or new.ignored
    pairs = zip(old.masked.countdowns, new.masked.countdowns, strict=False)
    if block is None and not all(unit_tolerates(*pair, elapsed) for pair in pairs):
        return DiffRow(RowKind.CHANGED, old.text, new.text)
    noise = {block} if block else (old.masked.noise | new.masked.noise)
    return DiffRow(RowKind.CHANGED, old.text, new.text, _in_order(noise or {NoiseKind.LAYOUT}))


def _replaced_rows(
    old: Sequence[ComparedLine], new: Sequence[ComparedLine], context: _Context
) -> Iterator[DiffRow]:
    if old and new and _words(old) == _words(new):
        for pair in _padded(old, new):
            yield _row(*pair, (NoiseKind.LAYOUT,))
        return
    gone, come = [], []
    for line in old:
        noise = context.noise_of(line, 0)
        if noise is None:
            gone.append(line)
        else:
            yield DiffRow(RowKind.REMOVED, old=line.text, noise=(noise,))
    for line in new:
        noise = context.noise_of(line, 1)
        if noise is None:
            come.append(line)
        else:
            yield DiffRow(RowKind.ADDED, new=line.text, noise=(noise,))
    for first, second in _paired(gone, come):
        yield _row(first, second)


def _row(old: ComparedLine | None, new: ComparedLine | None, noise: tuple[NoiseKind, ...] = ()) -> DiffRow:
    kind = RowKind.ADDED if old is None else RowKind.REMOVED if new is None else RowKind.CHANGED
    return DiffRow(kind, old.text if old else None, new.text if new else None, noise)


def _padded(
    old: Sequence[ComparedLine], new: Sequence[ComparedLine]
) -> Iterator[tuple[ComparedLine | None, ComparedLine | None]]:
    for at in range(max(len(old), len(new))):
        yield old[at] if at < len(old) else None, new[at] if at < len(new) else None


def _paired(
    old: Sequence[ComparedLine], new: Sequence[ComparedLine]
) -> Iterator[tuple[ComparedLine | None, ComparedLine | None]]:
    """Each removed line with the added one that it has become, in order."""
    if len(old) > MAX_PAIRED or len(new) > MAX_PAIRED:
        yield from ((line, None) for line in old)
        yield from ((None, line) for line in new)
        return
    waiting = list(new)
    alone = len(old) == len(new) == 1
    for line in old:
        at = next((at for at, other in enumerate(waiting) if alone or _is_similar(line, other)), None)
        if at is None:
            yield line, None
            continue
        yield from ((None, other) for other in waiting[:at])
        yield line, waiting[at]
        del waiting[: at + 1]
    yield from ((None, other) for other in waiting)


def _is_similar(old: ComparedLine, new: ComparedLine) -> bool:
    first, second = Counter(_pieces(old.key)), Counter(_pieces(new.key))
    common = sum((first & second).values())
    return 2 * common >= SIMILAR * (first.total() + second.total())


def _pieces(text: str) -> Sequence[str]:
    """Words, or characters where words are not divided."""
    return text.split() if " " in text or text.isascii() else text


def _words(lines: Iterable[ComparedLine]) -> str:
    return "".join(line.key.replace(" ", "") for line in lines)


def _in_order(noise: Iterable[NoiseKind]) -> tuple[NoiseKind, ...]:
    return tuple(sorted(noise))
