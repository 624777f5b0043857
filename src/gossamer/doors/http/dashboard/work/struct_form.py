"""The fields of a form, made from the fields of a msgspec type.

    sitemaps: bool = True                     a checkbox
    max_pages: Annotated[int, Meta(ge=1)]     a number with bounds
    scope: Literal["host", "any"] = "host"    a choice
    include: tuple[str, ...] = ()             a text with one of them a line
    headers: dict[str, str] = {}              a text with `Name: value` a line
    rules: tuple[SiteRule, ...] = ()          a text in JSON

The text below a field is its description. So a new field of the type is in the form without another line.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar, cast

import msgspec
from markupsafe import Markup
from msgspec import NODEFAULT, Struct, inspect

from gossamer.doors.http.dashboard.core.form import Form
from gossamer.doors.http.docs.markup import prose
from gossamer.problems import Problem, validation_error

T = TypeVar("T", bound=msgspec.Struct)
Control = Literal["checkbox", "number", "select", "textarea", "text"]

_ABBREVIATIONS: Final = {"url": "URL", "urls": "URLs", "id": "ID"}
_ERROR: Final = re.compile(r"(?P<why>.*?)(?: - at `\$\.(?P<field>\w+)(?P<place>[^`]*)`)?", re.DOTALL)
_HINT: Final = "Correct the field and send the form again."
_MANY: Final = (inspect.ListType, inspect.VarTupleType, inspect.DictType)


class StructField(Struct, frozen=True):
    """One field of a type, and the control that sets it."""

    name: str  # in the form
    json_name: str
    type: inspect.Type
    default: Any
    required: bool
    description: str

    @property
    def label(self) -> str:
        words = [_ABBREVIATIONS.get(word, word) for word in self.name.split("_")]
        text = " ".join(words)
        return text[:1].upper() + text[1:]

    @property
    def control(self) -> Control:
        match self.type:
            case inspect.BoolType():
                return "checkbox"
            case inspect.IntType() | inspect.FloatType():
                return "number"
            case inspect.LiteralType() | inspect.EnumType():
                return "select"
            case inspect.ListType() | inspect.VarTupleType() | inspect.DictType():
                return "textarea"
        return "text"

    @property
    def value(self) -> str | bool:
        """What the form proposes."""
        if isinstance(self.default, bool):
            return self.default
        if self.default is None or isinstance(self.type, _MANY):
            return ""
        return str(self.default)

    @property
    def about(self) -> Markup:
        if isinstance(self.type, inspect.DictType):
            return prose(f"{self.description} One in each line, as `Name: value`.")
        if self.is_json:
            return prose(f"{self.description} A list in JSON.")
        return prose(f"{self.description} One in each line." if self.is_list else self.description)

    @property
    def is_list(self) -> bool:
        return isinstance(self.type, inspect.ListType | inspect.VarTupleType)

    @property
    def is_json(self) -> bool:
        return self.is_list and _is_structure(self.type.item_type)  # type: ignore[attr-defined]

    @property
    def options(self) -> list[tuple[str, str]]:
        """The choices of a select, each with what it is called."""
        match self.type:
            case inspect.LiteralType(values=values):
                return [(str(value), str(value)) for value in values]
            case inspect.EnumType(cls=cls):
                return [(str(each.value), str(each.value)) for each in cls]
        return []

    @property
    def attributes(self) -> Markup:
        """The bounds, for browsers that check them while somebody types."""
        bounds: dict[str, object] = {}
        match self.type:
            case inspect.IntType(ge=low, le=high):
                bounds = {"min": low, "max": high, "inputmode": "numeric"}
            case inspect.FloatType(ge=low, le=high):
                bounds = {"min": low, "max": high, "step": "any", "inputmode": "decimal"}
            case inspect.StrType(max_length=longest):
                bounds = {"maxlength": longest}
        parts = [Markup('{}="{}"').format(name, value) for name, value in bounds.items() if value is not None]
        return Markup(" ").join(parts)

    def typed(self, form: Form) -> Any:
        """What was typed, as the field expects it; `NODEFAULT` if it was left empty."""
        if self.control == "checkbox":
            return form.is_on(self.name)
        if isinstance(self.type, inspect.DictType):
            return dict(self._pair(line) for line in form.lines(self.name)) or NODEFAULT
        if self.is_json:
            return self._decoded(form[self.name]) if form[self.name] else NODEFAULT
        if self.is_list:
            return form.lines(self.name) or NODEFAULT
        return form[self.name] or NODEFAULT

    def _decoded(self, text: str) -> Any:
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise validation_error(f"{self.label}: {error}.", hint="Write a list in JSON.") from None

    def _pair(self, line: str) -> tuple[str, str]:
        name, colon, value = line.partition(":")
        if not colon:
            raise validation_error(
                f"{self.label}: {line[:60]!r} has no colon.", hint="Write it as `Name: value`."
            )
        return name.strip(), value.strip()


@lru_cache(maxsize=16)
def fields_of(shape: type[msgspec.Struct]) -> Mapping[str, StructField]:
    """The fields of a type by name, in their order, without structures: these need a form of their own."""
    fields = map(_field, cast(inspect.StructType, inspect.type_info(shape)).fields)
    return {field.name: field for field in fields if not _is_structure(field.type)}


def _is_structure(kind: inspect.Type) -> bool:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    return isinstance(kind, inspect.StructType)


def read_struct(shape: type[T], form: Form) -> T:
    """What was typed, as a value of the type. Raises `Problem` that names the field with its label."""
    fields = fields_of(shape)
    given = {field.json_name: field.typed(form) for field in fields.values()}
    try:
        known = {name: value for name, value in given.items() if value is not NODEFAULT}
        return msgspec.convert(known, shape, strict=False)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), fields) from None


def _refusal(message: str, fields: Mapping[str, StructField]) -> Problem:
    labels = {field.json_name: field.label for field in fields.values()}
    found = _ERROR.fullmatch(message)
    label = labels.get(found["field"] or "") if found is not None else None
    if found is None or label is None:
        missing = next((name for name in labels if message.endswith(f"missing required field `{name}`")), "")
        return validation_error(f"{labels[missing]} is empty." if missing else f"{message}.", hint=_HINT)
    return validation_error(f"{label}: {found['why'][:1].lower()}{found['why'][1:]}.", hint=_HINT)


def _field(field: inspect.Field) -> StructField:
    kind: inspect.Type = field.type
    description = ""
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            description = description or (kind.extra_json_schema or {}).get("description", "")
            kind = kind.type
        else:
            (kind,) = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    default = field.default if field.default is not NODEFAULT else None
    if field.default_factory is not NODEFAULT:
        default = field.default_factory()
    return StructField(field.name, field.encode_name, kind, default, field.required, description)
