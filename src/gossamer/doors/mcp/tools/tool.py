"""Tool: the declaration of a tool, and what its function has at hand."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from gossamer.doors.mcp.own_api import OwnApi
from gossamer.doors.mcp.wording import ContentBlock

Content = list[ContentBlock]
Report = Callable[[float, float | None, str | None], Awaitable[None]]  # progress, total, message


class ToolArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a tool takes. Names are those of the API."""

    def given(self) -> dict[str, Any]:
        """Without what was left out."""
        shown: dict[str, Any] = msgspec.to_builtins(self)
        return shown


class ToolCall(Struct, frozen=True):
    """One call of a tool."""

    api: OwnApi
    report: Report


class WrongArguments(Exception):
    """The arguments do not fit the tool's schema."""


class ToolDeclaration(Struct, frozen=True):
    name: str
    title: str
    description: str
    arguments: type[ToolArguments]
    run: Callable[[ToolCall, Any], Awaitable[Content]]
    changes: bool = False  # it stores or cancels something
    destroys: bool = False  # what was stored is gone then

    @property
    def schema(self) -> dict[str, Any]:
        """Small, and without references, because some models do not follow them."""
        _, parts = msgspec.json.schema_components([self.arguments], ref_template="#/$defs/{name}")
        schema = dict(parts[self.arguments.__name__])
        return {name: value for name, value in schema.items() if name not in ("title", "description")}

    def read(self, arguments: Mapping[str, Any] | None) -> ToolArguments:
        """Lenient where models are careless: a number may be written as a text."""
        try:
            return msgspec.convert(dict(arguments or {}), self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise WrongArguments(self._explain(str(error))) from None

    def _explain(self, error: str) -> str:
        schema = self.schema
        needed = schema.get("required", [])
        known = [f"{name}{'' if name in needed else '?'}" for name in schema["properties"]]
        return f"Wrong arguments for `{self.name}`: {error}. It takes {', '.join(known)}."
