"""Fitting: make data valid by leaving out what violates its schema.

A value that the schema refuses is left out and listed as rejected. An object without a required value is left
out too, unless the object is itself required. If it is required up to the root, it stays, and the data is
invalid.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from gossamer.web.extract.found_value import Sources
from gossamer.web.extract.schema.schema import Schema, pointer
from gossamer.web.extract.value_spec import ValueSpec

MAX_ROUNDS: Final = 20
MAX_FAILURES: Final = 1_000
MAX_MISSING: Final = 500

Path = tuple[str | int, ...]


class Rejected(Struct, frozen=True):
    """A value that was found but left out of the data."""

    path: str  # where it would have been
    reason: str


class Fitted(Struct, frozen=True):
    data: Any
    sources: Sources
    rejected: tuple[Rejected, ...]
    missing: tuple[Path, ...]
    valid: bool


def fit(schema: Schema, spec: ValueSpec, data: Any, sources: Sources, *, complete: bool) -> Fitted:
    """Fit data to its schema. If it is `complete`, objects without a required value are left out."""
    if complete:
        data = _with_nulls(spec, data)
    rejected: dict[Path, str] = {}
    gone: set[Path] = set()
    live, origin = data, _origin(data, gone)
    for _ in range(MAX_ROUNDS):
        more = set(_find_refused(schema, spec, live, origin, complete, rejected)) - gone
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
        tuple(_missing(spec, live, ()))[:MAX_MISSING],
        schema.accepts(live),
    )


def _find_refused(
    schema: Schema,
    spec: ValueSpec,
    live: Any,
    origin: dict[Path, Path],
    complete: bool,
    rejected: dict[Path, str],
) -> Iterator[Path]:
    for number, failure in enumerate(schema.failures(live)):
        if number >= MAX_FAILURES:
            return
        old = origin.get(failure.path)
        if old is None:
            continue
        if failure.keyword == "required":
            removable = _removable(spec, old) if complete else None
            if removable:
                yield removable
        elif old:
            rejected.setdefault(old, failure.message)
            yield old


def _removable(spec: ValueSpec, path: Path) -> Path | None:
    """Return the nearest enclosing value that is not required."""
    for end in range(len(path), 0, -1):
        step, scope = path[end - 1], spec_at(spec, path[: end - 1])
        if isinstance(step, int) or scope is None or step not in scope.required:
            return path[:end]
    return None


def spec_at(spec: ValueSpec, path: Path) -> ValueSpec | None:
    found: ValueSpec | None = spec
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
    """Map the path of each remaining value to its original path."""
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


def _with_nulls(spec: ValueSpec, data: Any) -> Any:
    """Set required values that the page lacks to null, where the schema allows it."""
    if isinstance(data, list) and spec.item is not None:
        return [_with_nulls(spec.item, one) for one in data]
    if not isinstance(data, dict):
        return data
    found = dict(data)
    for member in spec.members:
        if member.name in found:
            found[member.name] = _with_nulls(member, found[member.name])
        elif member.name in spec.required and "null" in member.types:
            found[member.name] = None
    return found


def _missing(spec: ValueSpec, data: Any, path: Path) -> Iterator[Path]:
    if data is None or (data == [] and spec.is_list):
        yield path
    elif isinstance(data, list) and spec.item is not None:
        for place, one in enumerate(data):
            yield from _missing(spec.item, one, (*path, place))
    elif isinstance(data, dict):
        for member in spec.members:
            yield from _missing(member, data.get(member.name), (*path, member.name))
