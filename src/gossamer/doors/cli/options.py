"""Command-line options made from the fields of a msgspec type.

    scope: Literal["host", "any"] = "host"    --scope [host|any]
    max_pages: Annotated[int, Meta(ge=1)]     --max-pages INTEGER RANGE
    include: tuple[str, ...] = ()             --include TEXT, may be repeated
    headers: dict[str, str] = {}              --header NAME:VALUE, may be repeated
    quick: bool = False                       --quick
    sitemaps: bool = True                     --no-sitemaps

Help comes from the field's description. `Meta(extra={"metavar": "PATTERN"})` names the value.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar, cast

import click
import msgspec
from click.core import ParameterSource
from msgspec import NODEFAULT, Struct, inspect

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=msgspec.Struct)
_MANY: Final = (inspect.ListType, inspect.VarTupleType, inspect.DictType)


class FieldOption(Struct, frozen=True):
    """One field of a type, and the command-line option that sets it."""

    name: str
    json_name: str
    type: inspect.Type
    default: Any
    description: str
    metavar: str | None

    @property
    def flag(self) -> str:
        words = self.name.replace("_", "-")
        if self.default is True:
            return f"--no-{words}"
        return f"--{words.removesuffix('s')}" if isinstance(self.type, _MANY) else f"--{words}"

    @property
    def help(self) -> str:
        text = self.description.replace("`", "")
        if self.default is True:
            return f"Turn off: {text[:1].lower()}{text[1:]}"
        return f"{text} May be repeated." if isinstance(self.type, _MANY) else text

    def add_to(self, command: F) -> F:
        common: dict[str, Any] = {"help": self.help, "metavar": self.metavar}
        if isinstance(self.type, inspect.BoolType):
            return click.option(self.flag, self.name, is_flag=True, **common)(command)
        if isinstance(self.type, _MANY):
            return click.option(self.flag, self.name, multiple=True, **common)(command)
        kind, default = _click_type(self.type), self.default
        shown = default not in (None, "")
        return click.option(self.flag, self.name, type=kind, default=default, show_default=shown, **common)(
            command
        )

    def value(self, given: Any) -> Any:
        """The typed value, as the field expects it."""
        if isinstance(self.type, inspect.DictType):
            return dict(_pair(text) for text in given)
        return not given if self.default is True else given


def options_of(shape: type[msgspec.Struct]) -> Iterator[FieldOption]:
    """An option for each field with a default, unless it is a structure that a line has no room for. The
    fields without one are set by arguments."""
    for field in cast(inspect.StructType, inspect.type_info(shape)).fields:
        if not field.required:
            kind, notes, extra = _unwrap(field.type)
            if isinstance(kind, inspect.StructType) or _has_structures(kind):
                continue
            default = field.default if field.default is not NODEFAULT else field.default_factory()
            metavar = extra.get("metavar")
            if isinstance(kind, inspect.DictType):
                metavar = metavar or "NAME:VALUE"
            elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
                metavar = _unwrap(kind.item_type)[2].get("metavar")
            description = notes.get("description", "")
            yield FieldOption(field.name, field.encode_name, kind, default, description, metavar)


def with_options(shape: type[msgspec.Struct]) -> Callable[[F], F]:
    """Give a command the options of a type."""

    def decorate(command: F) -> F:
        for option in reversed(list(options_of(shape))):
            command = option.add_to(command)
        return command

    return decorate


def from_options(shape: type[T], flags: Mapping[str, Any], **arguments: Any) -> T:
    """Build a value from options and arguments, with the same checks as over HTTP."""
    given = {one.json_name: one.value(flags[one.name]) for one in options_of(shape)}
    try:
        return msgspec.convert(given | arguments, shape)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"{error}.") from None


def first_given_option(shape: type[msgspec.Struct]) -> str | None:
    """The first flag of this type on the command line."""
    context = click.get_current_context()
    for option in options_of(shape):
        if context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            return option.flag
    return None


def markdown_table(shape: type[msgspec.Struct]) -> str:
    """The fields of a type for the documentation: names, defaults and meanings."""
    lines = ["| body | flag | default | meaning |", "|---|---|---|---|"]
    for one in options_of(shape):
        default = msgspec.json.encode(one.default).decode()
        lines.append(f"| `{one.json_name}` | `{one.flag}` | `{default}` | {one.description} |")
    return "\n".join(lines) + "\n"


def _unwrap(kind: inspect.Type) -> tuple[inspect.Type, Mapping[str, Any], Mapping[str, Any]]:
    """The type without its annotations and without `None`; its schema notes; and its extra notes."""
    notes: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    while True:
        if isinstance(kind, inspect.Metadata):
            notes, extra = (kind.extra_json_schema or {}) | notes, (kind.extra or {}) | extra
            kind = kind.type
        elif isinstance(kind, inspect.UnionType):
            (kind,) = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        else:
            return kind, notes, extra


def _has_structures(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.VarTupleType) and isinstance(
        _unwrap(kind.item_type)[0], inspect.StructType
    )


def _click_type(kind: inspect.Type) -> Any:
    match kind:
        case inspect.LiteralType(values=values):
            return click.Choice(values)
        case inspect.IntType(ge=low, le=high):
            return click.IntRange(low, high)
        case inspect.FloatType(ge=low, le=high):
            return click.FloatRange(low, high)
        case inspect.StrType():
            return str
    raise TypeError(f"no option can be made of {kind}")


def _pair(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise click.UsageError(f"{text!r} is no header; write it as 'Name: value'.")
    return name.strip(), value.strip()
