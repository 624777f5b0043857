"""The form that a language model fills in for the values that were not found, and its answer.

The model can only fill in the fields of one form. A value that does not fit the schema, or is not on the
page, is left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from gossamer.web.extract.found_value import (
    MAX_SOURCE_CHARS,
    FoundValue,
    Provenance,
    join_items,
    join_members,
)
from gossamer.web.extract.grounding import Ground
from gossamer.web.extract.model_prompt import REMINDER, STRANGERS, ModelPrompt, closed_object, enclose
from gossamer.web.extract.record import MAX_VALUE_CHARS, Leaf
from gossamer.web.extract.schema.coercion import ValueReader
from gossamer.web.extract.schema.fitting import Path, Rejected, spec_at
from gossamer.web.extract.schema.schema import Json, pointer
from gossamer.web.extract.value_spec import ValueSpec

MAX_FIELDS: Final = 60  # of one form
MAX_ITEMS: Final = 500
MAX_DEPTH: Final = 8
MAX_SHAPE_CHARS: Final = 2_000  # of the schema of a field
EVERYTHING: Final = "data"  # the only field of a form for any object
_SYSTEM: Final = (
    f"You read one web page and fill in a form with what the page says. {STRANGERS} Fill in a field only "
    "with what the page itself says, as it says it, and quote the passage word for word. Leave out a field "
    "that the page does not say. Never guess, never compute what is not there, never use what you know from "
    "elsewhere. A value is written as text: numbers in digits with a dot before decimals, dates as "
    "YYYY-MM-DD, lists and objects as JSON."
)


class ModelForm(ModelPrompt, frozen=True):
    fields: Mapping[str, Path]  # the path of each field, by its name in the form


def build_form(
    spec: ValueSpec, missing: Sequence[Path], *, instructions: str, url: str, text: str, boundary: str
) -> ModelForm | None:
    """Return None if there is nothing to ask. A `spec` without members allows any object as the answer."""
    fields = {EVERYTHING: ()} if _is_open(spec) else dict(_fields(spec, missing))
    if not fields:
        return None
    described = "\n".join(f"- {name}{_describe(spec_at(spec, path))}" for name, path in fields.items())
    request = f"The one who asks says:\n{instructions.strip()}\n\n" if instructions.strip() else ""
    prompt = (
        f"{request}The fields of the form:\n{described}\n\n"
        f"{enclose(url, text, boundary)}Fill in the form. {REMINDER}"
    )
    return ModelForm(_SYSTEM, prompt, _answer_schema(list(fields)), fields)


def _is_open(spec: ValueSpec) -> bool:
    """Whether the spec allows any object."""
    return not spec.name and not spec.document


def _fields(spec: ValueSpec, missing: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the missing values, without those inside list items and those with a selector."""
    used: set[str] = set()
    for path in missing:
        if any(isinstance(step, int) for step in path) or len(used) >= MAX_FIELDS:
            continue
        specs = [spec_at(spec, path[:end]) for end in range(len(path) + 1)]
        if any(one is None or one.selector for one in specs):
            continue
        name = ".".join(str(step) for step in path)[:100] or EVERYTHING
        name = f"{name} ({len(used) + 1})" if name in used else name
        used.add(name)
        yield name, path


def _describe(spec: ValueSpec | None) -> str:
    """Describe a field by its part of the schema, without our own keywords."""
    if spec is None or not spec.document:
        return ""
    shape = {name: one for name, one in spec.document.items() if not name.startswith(("x-", "$"))}
    return f": {json.dumps(shape, ensure_ascii=False)[:MAX_SHAPE_CHARS]}"


def _answer_schema(names: list[str]) -> Json:
    """Return the schema of the answer. It has few parts, because model APIs limit the size of schemas."""
    text = {"type": "string"}
    entry = closed_object({"field": {"type": "string", "enum": names}, "value": text, "quote": text})
    return closed_object({"found": {"type": "array", "items": entry}})


# The answer.


class ModelAnswer(Struct, frozen=True):
    pieces: tuple[tuple[Path, FoundValue], ...]
    rejected: tuple[Rejected, ...]


def read_answer(
    answer: Any, form: ModelForm, spec: ValueSpec, ground: Ground, reader: ValueReader
) -> ModelAnswer:
    """Read an answer, which may be anything; the first value for a field counts."""
    answers = _AnswerReader(ground, reader)
    pieces: dict[Path, FoundValue] = {}
    for name, value, quote in _entries(answer):
        path = form.fields.get(name)
        part = spec_at(spec, path) if path is not None else None
        if path is None or part is None or path in pieces:
            continue
        found_value = answers.open(value) if _is_open(part) else answers.take(value, part, quote, path)
        if found_value is not None:
            pieces[path] = found_value
    return ModelAnswer(tuple(pieces.items()), tuple(answers.rejected))


def _entries(answer: Any) -> Iterator[tuple[str, Any, str]]:
    found = answer.get("found") if isinstance(answer, dict) else None
    for entry in found[: 2 * MAX_FIELDS] if isinstance(found, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("field"), str) and entry.get("value") is not None:
            yield entry["field"], entry["value"], str(entry.get("quote") or "")


class _AnswerReader:
    def __init__(self, ground: Ground, reader: ValueReader) -> None:
        self.rejected: list[Rejected] = []
        self._ground = ground
        self._reader = reader

    def open(self, value: Any) -> FoundValue | None:
        return _open(_parse_json(value), self._ground, 0)

    def take(self, value: Any, spec: ValueSpec, quote: str, path: Path) -> FoundValue | None:
        if spec.is_list or spec.is_object:
            value = _parse_json(value)
        if spec.is_list and isinstance(value, list):
            item = spec.item or ValueSpec(name=spec.name)
            found = [
                found_value
                for place, one in enumerate(value[:MAX_ITEMS])
                if (found_value := self.take(one, item, quote, (*path, place)))
            ]
            return join_items(found) if found else None
        if spec.is_object and isinstance(value, dict):
            members = {
                one.name: found_value
                for one in spec.members
                if value.get(one.name) is not None
                and (found_value := self.take(value[one.name], one, quote, (*path, one.name)))
            }
            return join_members(members) if members else None
        return self._scalar(value, spec, quote, path)

    def _scalar(self, value: Any, spec: ValueSpec, quote: str, path: Path) -> FoundValue | None:
        if not isinstance(value, str | int | float | bool) or spec.is_list or spec.is_object:
            self._reject(path, "the model's answer is of another type")
            return None
        made = self._reader.coerce(Leaf(value, ""), spec)
        if made is None:
            self._reject(path, "the model's answer is of another type")
            return None
        if not self._ground.supports(made, spec, quote):
            self._reject(path, "the model's answer is not on the page")
            return None
        return FoundValue(
            made, {"": Provenance("model", "text", quote[:MAX_SOURCE_CHARS], derived=spec.derived)}
        )

    def _reject(self, path: Path, reason: str) -> None:
        self.rejected.append(Rejected(pointer(path), reason))


def _parse_json(value: Any) -> Any:
    """Parse lists and objects, which come as JSON in a string."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _open(value: Any, ground: Ground, depth: int) -> FoundValue | None:
    """Accept any value within limits, and mark what is not on the page as derived."""
    if depth > MAX_DEPTH or value is None:
        return None
    if isinstance(value, dict):
        members = {
            name[:200]: found_value
            for name, one in list(value.items())[:MAX_ITEMS]
            if (found_value := _open(one, ground, depth + 1))
        }
        return join_members(members)
    if isinstance(value, list):
        return join_items(
            found_value for one in value[:MAX_ITEMS] if (found_value := _open(one, ground, depth + 1))
        )
    kept = value[:MAX_VALUE_CHARS] if isinstance(value, str) else value
    derived = not ground.supports(kept, ValueSpec(), "")
    return FoundValue(kept, {"": Provenance("model", "text", derived=derived)})


def fill_in(data: Any, path: Path, found_value: FoundValue) -> Any:
    """Return the data with a value at this path, creating objects on the way."""
    if not path:
        return found_value.value
    step, *rest = path
    members = dict(data) if isinstance(data, dict) else {}
    members[str(step)] = fill_in(members.get(str(step)), tuple(rest), found_value)
    return members
