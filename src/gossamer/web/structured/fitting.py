"""Fitting: data that holds to its schema, by leaving out what does not.

A value that the schema refuses is left out and named as rejected. An object that lacks something it must
have is left out too, if nobody requires it; where it is required all the way up it stays, and the data is not
valid.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gossamer.web.structured.piece import Sources
from gossamer.web.structured.schema import Schema, pointer
from gossamer.web.structured.wanted import Wanted

ROUNDS: Final = 20
MOST_FAILURES: Final = 1_000
MOST_MISSING: Final = 500

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A value that was found and is not in the data."""

    path: str  # where it would have been
    reason: str


@dataclass(frozen=True, slots=True)
class Fitted:
    data: Any
    sources: Sources
    rejected: tuple[Rejected, ...]
    missing: tuple[Path, ...]
    valid: bool


def fit(schema: Schema, wanted: Wanted, data: Any, sources: Sources, *, complete: bool) -> Fitted:
    """`complete`: nothing more will be found, so what lacks something required is left out."""
    if complete:
        data = _with_nulls(wanted, data)
    rejected: dict[Path, str] = {}
    gone: set[Path] = set()
    live, origin = data, _origin(data, gone)
    for _ in range(ROUNDS):
        more = set(_refused(schema, wanted, live, origin, complete, rejected)) - gone
        if not more:
            break
        gone |= more
        live = _without(data, gone)
        origin = _origin(data, gone)
    where = {pointer(old): pointer(new) for new, old in origin.items()}
    return Fitted(
        live,
        {where[at]: source for at, source in sources.items() if at in where},
        tuple(Rejected(pointer(path), why) for path, why in rejected.items()),
        tuple(_missing(wanted, live, ()))[:MOST_MISSING],
        schema.accepts(live),
    )


def _refused(
    schema: Schema,
    wanted: Wanted,
    live: Any,
    origin: dict[Path, Path],
    complete: bool,
    rejected: dict[Path, str],
) -> Iterator[Path]:
    for number, failure in enumerate(schema.failures(live)):
        if number >= MOST_FAILURES:
            return
        old = origin.get(failure.path)
        if old is None:
            continue
        if failure.keyword == "required":
            removable = _removable(wanted, old) if complete else None
            if removable:
                yield removable
        elif old:
            rejected.setdefault(old, failure.message)
            yield old


def _removable(wanted: Wanted, path: Path) -> Path | None:
    """The closest thing around it that nobody requires."""
    for end in range(len(path), 0, -1):
        step, around = path[end - 1], at(wanted, path[: end - 1])
        if isinstance(step, int) or around is None or step not in around.required:
            return path[:end]
    return None


def at(wanted: Wanted, path: Path) -> Wanted | None:
    found: Wanted | None = wanted
    for step in path:
        if found is None:
            return None
        if isinstance(step, int):
            found = found.item
        else:
            found = next((one for one in found.members if one.name == step), None)
    return found


def _without(value: Any, gone: set[Path], path: Path = ()) -> Any:
    if isinstance(value, dict):
        return {
            name: _without(one, gone, (*path, name))
            for name, one in value.items()
            if (*path, name) not in gone
        }
    if isinstance(value, list):
        return [
            _without(one, gone, (*path, place))
            for place, one in enumerate(value)
            if (*path, place) not in gone
        ]
    return value


def _origin(data: Any, gone: set[Path]) -> dict[Path, Path]:
    """Where each value that is left stands now, and where it stood."""
    found: dict[Path, Path] = {}
    waiting: list[tuple[Any, Path, Path]] = [(data, (), ())]
    while waiting:
        value, old, new = waiting.pop()
        found[new] = old
        if isinstance(value, dict):
            kept = [
                (one, (*old, name), (*new, name)) for name, one in value.items() if (*old, name) not in gone
            ]
            waiting += kept
        elif isinstance(value, list):
            places = [place for place in range(len(value)) if (*old, place) not in gone]
            waiting += [(value[place], (*old, place), (*new, now)) for now, place in enumerate(places)]
    return found


def _with_nulls(wanted: Wanted, data: Any) -> Any:
    """What is required and may be null is null where the page does not say it."""
    if isinstance(data, list) and wanted.item is not None:
        return [_with_nulls(wanted.item, one) for one in data]
    if not isinstance(data, dict):
        return data
    found = dict(data)
    for member in wanted.members:
        if member.name in found:
            found[member.name] = _with_nulls(member, found[member.name])
        elif member.name in wanted.required and "null" in member.types:
            found[member.name] = None
    return found


def _missing(wanted: Wanted, data: Any, path: Path) -> Iterator[Path]:
    if data is None or (data == [] and wanted.is_list):
        yield path
    elif isinstance(data, list) and wanted.item is not None:
        for place, one in enumerate(data):
            yield from _missing(wanted.item, one, (*path, place))
    elif isinstance(data, dict):
        for member in wanted.members:
            yield from _missing(member, data.get(member.name), (*path, member.name))
