"""Field changes: two JSON values, field by field."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from gossamer.web.extract.schema.schema import pointer

MAX_FIELD_CHANGES: Final = 1_000


class FieldChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class FieldChange(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: FieldChangeKind
    field: str  # a JSON pointer
    old: Any = None
    new: Any = None


def field_changes(old: Any, new: Any, *, order_matters: bool = False) -> list[FieldChange]:
    """Lists are compared without regard to order, unless it matters."""
    found: list[FieldChange] = []
    for change in _changes(old, new, (), order_matters):
        found.append(change)
        if len(found) == MAX_FIELD_CHANGES:
            break
    return found


def _changes(old: Any, new: Any, path: tuple[str | int, ...], ordered: bool) -> Iterator[FieldChange]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            yield from _changes(old.get(name), new.get(name), (*path, str(name)), ordered)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_changes(old, new, path, ordered)
    elif _plain(old) != _plain(new):
        yield FieldChange(_kind(old, new), pointer(path), old, new)


def _list_changes(
    old: Sequence[Any], new: Sequence[Any], path: tuple[str | int, ...], ordered: bool
) -> Iterator[FieldChange]:
    if ordered:
        for at in range(max(len(old), len(new))):
            first, second = (side[at] if at < len(side) else None for side in (old, new))
            yield from _changes(first, second, (*path, at), ordered)
        return
    keys = [msgspec.json.encode(_plain(item), order="sorted") for item in new]
    waiting: dict[bytes, list[int]] = {}
    for at, key in enumerate(keys):
        waiting.setdefault(key, []).append(at)
    gone: list[int] = []
    for at, item in enumerate(old):
        places = waiting.get(msgspec.json.encode(_plain(item), order="sorted"))
        if places:
            places.pop(0)
        else:
            gone.append(at)
    come = sorted(at for places in waiting.values() for at in places)
    for at, to in zip(gone, come, strict=False):
        yield from _changes(old[at], new[to], (*path, to), ordered)
    for at in gone[len(come) :]:
        yield FieldChange(FieldChangeKind.REMOVED, pointer((*path, at)), old[at])
    for to in come[len(gone) :]:
        yield FieldChange(FieldChangeKind.ADDED, pointer((*path, to)), None, new[to])


def _kind(old: Any, new: Any) -> FieldChangeKind:
    if old is None:
        return FieldChangeKind.ADDED
    return FieldChangeKind.REMOVED if new is None else FieldChangeKind.CHANGED


def _plain(value: Any) -> Any:
    """Without differences in white space, and between 5 and 5.0."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bool) or value is None:
        return value
    return float(value) if isinstance(value, int | float) else value
