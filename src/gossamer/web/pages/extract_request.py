"""ExtractRequest and ExtractResult: what data to get out of a page, and what was found."""

from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self

from msgspec import UNSET, Meta, UnsetType, field

from gossamer.problems import UNPROCESSABLE_ENTITY, Problem, validation_error
from gossamer.web.extract.found_value import Sources
from gossamer.web.extract.model_use import ModelUse
from gossamer.web.extract.schema import schema
from gossamer.web.extract.schema.fitting import Rejected
from gossamer.web.extract.schema.schema import Schema, schema_of
from gossamer.web.pages.cache_options import CacheMetadata, CachePart, cache_metadata
from gossamer.web.pages.page_request import (
    MAX_TIMEOUT,
    PageUrl,
    Rendering,
    SentHeaders,
    Target,
    invalid_field,
)
from gossamer.web.pages.read_result import FetchedResult
from gossamer.web.pages.timestamps import iso
from gossamer.web.pages.visit_options import VisitOptions

MAX_INSTRUCTIONS: Final = 4_000  # characters
MAX_FIELDS: Final = 100
ANYTHING: Final = Schema({})  # if there are only instructions
FieldName = Annotated[str, Meta(min_length=1, max_length=100)]
FieldHint = Annotated[str, Meta(max_length=1_000)]


class ExtractRequest(VisitOptions, Target, frozen=True):
    """From which page, and what: by `schema`, or in short by `fields`; `instructions` are for a model."""

    url: PageUrl
    schema: Annotated[
        dict[str, Any] | None,
        Meta(description="JSON Schema of an object or a list. `x-selector` points at a value by CSS."),
    ] = None
    fields: Annotated[
        Annotated[list[FieldName], Meta(min_length=1, max_length=MAX_FIELDS)]
        | Annotated[dict[FieldName, FieldHint], Meta(min_length=1, max_length=MAX_FIELDS)]
        | None,
        Meta(description="Names, or names with a type (`number`, `date`, `string[]`) or a description each."),
    ] = None
    instructions: Annotated[
        str, Meta(max_length=MAX_INSTRUCTIONS, description="Instructions for the language model.")
    ] = ""
    model: Annotated[
        bool,
        Meta(description="Whether a language model, if the server has one, may fill in what is missing."),
    ] = True
    render: Annotated[
        Rendering,
        Meta(description="Whether to use a browser: never, if the page is an empty shell, or always."),
    ] = "never"
    timeout: Annotated[
        int, Meta(ge=1, le=MAX_TIMEOUT, description="Milliseconds for the page, retries included.")
    ] = 10_000
    headers: SentHeaders = field(default_factory=dict)

    @property
    def wait_for(self) -> None:
        return None

    @property
    def rendering(self) -> Rendering:
        return "always" if self.actions else self.render

    def check(self) -> None:
        super().check()
        if self.render == "never" and (self.actions or self.timezone):
            name = "actions" if self.actions else "timezone"
            raise invalid_field(name, "It needs a browser", "Say `render`: `auto` or `always`.")
        _ = self.data_schema

    @cached_property
    def data_schema(self) -> Schema:
        """Raises `Problem` if the request does not say what it wants, or says it in two ways."""
        if self.schema is not None and self.fields is not None:
            raise Problem(
                UNPROCESSABLE_ENTITY,
                "`schema` and `fields` say the same in two ways; give one of them.",
                details={"reason": "schema_and_fields"},
            )
        if self.schema is not None:
            return schema.read(self.schema)
        if self.fields is not None:
            return schema.read(schema_of(self.fields))
        if not self.instructions.strip():
            raise validation_error(
                "Nothing is asked for.", hint="Say what is wanted: `schema`, `fields` or `instructions`."
            )
        return ANYTHING

    def respelled(self, url: str, headers: dict[str, str]) -> Self:
        other = super().respelled(url, headers)
        other.__dict__["data_schema"] = self.data_schema  # which takes long to compile
        return other

    def parameters(self, model: str) -> dict[str, object]:
        """Everything that the answer depends on, as it is sent."""
        return {
            "url": self.url,
            "schema": self.data_schema.document,
            "instructions": self.instructions,
            "model": model,
            "render": self.render,
            "headers": self.header_pairs,
            **self.visit_parameters(),
        }


class ExtractedData(FetchedResult, frozen=True, kw_only=True):
    """What `ExtractResult` and its answer have in common."""

    data: Any
    sources: Annotated[Sources, Meta(description="By JSON pointer into `data`, for every single value.")]
    missing: Annotated[
        tuple[str, ...], Meta(description="JSON pointers of the values that the page does not have.")
    ]
    valid: Annotated[
        bool, Meta(description="Whether `data` fits the schema; false only if something is missing.")
    ]
    rejected: Annotated[tuple[Rejected, ...], Meta(description="Values that were found but do not fit.")] = ()
    model: ModelUse | UnsetType = UNSET


class ExtractResult(ExtractedData, frozen=True, kw_only=True):
    """The data of a page."""

    via: Literal["fetch", "render"]
    fetched_at: float  # Unix seconds

    def to_answer(self, part: CachePart, request_id: str, now: float) -> "ExtractAnswer":
        return ExtractAnswer(
            **{name: getattr(self, name) for name in ExtractedData.__struct_fields__},
            tier="pro" if self.via == "render" else "basic",
            fetched_at=iso(self.fetched_at),
            request_id=request_id,
            cache=cache_metadata(part, now),
        )


class ExtractAnswer(ExtractedData, frozen=True, kw_only=True):
    """The data, and where each value of it came from."""

    tier: Annotated[Literal["basic", "pro"], Meta(description="`pro` if a browser was used.")]
    fetched_at: str
    request_id: str
    cache: CacheMetadata | UnsetType = UNSET
