"""The difference of two sequences, in bounded time.

difflib takes the square of the length, and on hostile input more. So both ends that are equal are taken off,
elements that each side has once divide the rest (as in a patience diff), and only short gaps go to difflib.
A gap that stays long is one replacement.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, Literal, NamedTuple

MAX_GAP: Final = 120  # elements on each side


class Edit(NamedTuple):
    """What became of a range: `equal`, or `replaced`, where one of the ranges may be empty."""

    kind: Literal["equal", "replaced"]
    old: range
    new: range


def edits(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Edit]:
    """Ranges in order, which cover both sequences."""
    return list(_joined(_edits(old, new, range(len(old)), range(len(new)))))


def _edits(old: Sequence[Hashable], new: Sequence[Hashable], left: range, right: range) -> Iterator[Edit]:
    start = _common(old, new, left, right)
    end = _common(old, new, left[start:][::-1], right[start:][::-1])
    yield Edit("equal", left[:start], right[:start])
    middle_left, middle_right = left[start : len(left) - end], right[start : len(right) - end]
    yield from _middle(old, new, middle_left, middle_right)
    yield Edit("equal", left[len(left) - end :], right[len(right) - end :])


def _common(old: Sequence[Hashable], new: Sequence[Hashable], left: range, right: range) -> int:
    count = 0
    for at, to in zip(left, right, strict=False):
        if old[at] != new[to]:
            break
        count += 1
    return count


def _middle(old: Sequence[Hashable], new: Sequence[Hashable], left: range, right: range) -> Iterator[Edit]:
    if not left or not right:
        yield Edit("replaced", left, right)
        return
    anchors = _anchors(old, new, left, right)
    from_left, from_right = left.start, right.start
    for at, to in [*anchors, (left.stop, right.stop)]:
        yield from _gap(old, new, range(from_left, at), range(from_right, to))
        if at < left.stop:
            yield Edit("equal", range(at, at + 1), range(to, to + 1))
        from_left, from_right = at + 1, to + 1


def _anchors(
    old: Sequence[Hashable], new: Sequence[Hashable], left: range, right: range
) -> list[tuple[int, int]]:
    """Elements that each side has once, as many as are in the same order on both."""
    once_left = {one for one, count in Counter(old[at] for at in left).items() if count == 1}
    counts = Counter(new[at] for at in right)
    places = {new[at]: at for at in right if counts[new[at]] == 1 and new[at] in once_left}
    return _longest_increasing([(at, places[old[at]]) for at in left if old[at] in places])


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    ends: list[int] = []  # the smallest last place of a run of each length
    last: list[int] = []  # the pair that ends it
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [index]
    run: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _gap(old: Sequence[Hashable], new: Sequence[Hashable], left: range, right: range) -> Iterator[Edit]:
    if not left or not right or max(len(left), len(right)) > MAX_GAP:
        yield Edit("replaced", left, right)
        return
    matcher = SequenceMatcher(None, [old[at] for at in left], [new[at] for at in right], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        yield Edit("equal" if tag == "equal" else "replaced", left[i1:i2], right[j1:j2])


def _joined(found: Iterator[Edit]) -> Iterator[Edit]:
    """Without empty ranges, and neighbours of one kind as one."""
    last: Edit | None = None
    for edit in found:
        if not edit.old and not edit.new:
            continue
        if last is not None and last.kind == edit.kind:
            last = Edit(last.kind, _join(last.old, edit.old), _join(last.new, edit.new))
            continue
        if last is not None:
            yield last
        last = edit
    if last is not None:
        yield last


def _join(first: range, second: range) -> range:
    if not first:
        return second
    return range(first.start, second.stop) if second else first
