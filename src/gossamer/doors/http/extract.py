"""Extract: a URL and a schema in, data with its sources out."""

from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.caching import (
    CacheMetadata,
    CacheOptions,
    CacheQuery,
    cache_metadata,
    caches,
    caching,
    through_cache,
)
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.limiting import within_limits
from gossamer.doors.http.read_options import LONGEST_TIMEOUT, SentHeaders, sendable
from gossamer.doors.http.routing import Route
from gossamer.flows.caching import Part
from gossamer.flows.extract import ANYTHING, Asked, Extracted, Extractor, Wish
from gossamer.flows.obtain import Rendering
from gossamer.problems import UNPROCESSABLE_ENTITY, Problem, validation_error
from gossamer.reach import llm
from gossamer.state.tenants import Role
from gossamer.web.outcome import Outcome
from gossamer.web.structured import schema
from gossamer.web.structured.fields import schema_of
from gossamer.web.structured.piece import Kind, Source
from gossamer.web.structured.schema import Schema
from gossamer.web.url import Url

LONGEST_INSTRUCTIONS: Final = 4_000
MOST_FIELDS: Final = 100
Name = Annotated[str, Meta(min_length=1, max_length=100)]
Told = Annotated[str, Meta(max_length=1_000)]


class ExtractRequest(CacheOptions):
    """From which page, and what: by `schema`, or in short by `fields`; `instructions` are for a model."""

    url: Annotated[str, Meta(description="The address of the page.", examples=["https://example.com/"])]
    schema: Annotated[
        dict[str, Any] | None,
        Meta(description="JSON Schema of an object or a list. `x-selector` points at a value by CSS."),
    ] = None
    fields: Annotated[
        Annotated[list[Name], Meta(min_length=1, max_length=MOST_FIELDS)]
        | Annotated[dict[Name, Told], Meta(min_length=1, max_length=MOST_FIELDS)]
        | None,
        Meta(description="Names, or names with a type (`number`, `date`, `string[]`) or a description each."),
    ] = None
    instructions: Annotated[
        str, Meta(max_length=LONGEST_INSTRUCTIONS, description="What a language model should mind.")
    ] = ""
    model: Annotated[
        bool, Meta(description="Whether a language model, if the server has one, may fill what is left.")
    ] = True
    render: Annotated[
        Rendering, Meta(description="By a browser: never, where the page is an empty shell, or always.")
    ] = "never"
    timeout: Annotated[
        int, Meta(ge=1, le=LONGEST_TIMEOUT, description="Milliseconds for the page, retries included.")
    ] = 10_000
    headers: SentHeaders = msgspec.field(default_factory=dict)


class ValueSource(msgspec.Struct, rename="camel"):
    """Where a value came from."""

    kind: Kind
    path: Annotated[str, Meta(description="In the structured data, a CSS selector, or a place in words.")]
    text: Annotated[str | UnsetType, Meta(description="As it stands there, where the value is another.")] = (
        UNSET
    )
    derived: Annotated[
        bool | UnsetType, Meta(description="Made from the page by a model rather than found in it.")
    ] = UNSET


class RejectedValue(msgspec.Struct):
    """What was found and left out."""

    path: str
    reason: str


class ModelUse(msgspec.Struct, rename="camel"):
    """How a language model took part."""

    name: str
    status: Literal["ok", "failed"]
    input_tokens: int
    output_tokens: int
    reason: Annotated[str | UnsetType, Meta(description="Why it failed.")] = UNSET


class ExtractAnswer(msgspec.Struct, rename="camel"):
    """The data, and where each value of it came from."""

    url: str
    final_url: str
    status_code: Annotated[int, Meta(description="The target's own status.")]
    outcome: Annotated[Outcome, Meta(description="`ok` only if this is the page that was asked for.")]
    title: str
    data: Any
    sources: Annotated[
        dict[str, ValueSource], Meta(description="By JSON pointer into `data`, for every single value.")
    ]
    missing: Annotated[list[str], Meta(description="JSON pointers of what the page does not say.")]
    valid: Annotated[
        bool, Meta(description="Whether `data` holds to the schema; false only where something is missing.")
    ]
    tier: Annotated[Literal["basic", "pro"], Meta(description="`pro` where a browser was used.")]
    content_type: str
    fetched_at: str
    fetch_time: Annotated[int, Meta(description="Milliseconds.")]
    request_id: str
    outcome_reason: Annotated[str | UnsetType, Meta(description="Which rule, where it is not `ok`.")] = UNSET
    rejected: Annotated[
        list[RejectedValue] | UnsetType, Meta(description="What was found but does not fit.")
    ] = UNSET
    model: ModelUse | UnsetType = UNSET
    truncated: Annotated[
        bool | UnsetType, Meta(description="The page went over a bound; something was not looked at.")
    ] = UNSET
    cache: CacheMetadata | UnsetType = UNSET


class Extract:
    def __init__(self, extractor: Extractor, upgrade_url: str | None) -> None:
        self._extractor = extractor
        self._upgrade_url = upgrade_url or None

    async def extract_data(self, exchange: Exchange, body: ExtractRequest, query: CacheQuery) -> Response:
        wish, caller = _wish(body), exchange.caller
        work = through_cache(
            exchange,
            body,
            query,
            partial(self._extractor.extract, wish, caller),
            partial(self._extractor.extract_through, wish, caller),
        )
        extracted, part, status = await within_limits(exchange, self._upgrade_url, work)
        exchange.outcome = extracted.outcome if extracted.data else Outcome.EMPTY
        shown = _answer(extracted, part, exchange.request_id, self._extractor.clock())
        return answer(shown, headers={"X-Cache-Status": status})

    async def _has(self, exchange: Exchange, body: ExtractRequest, query: CacheQuery) -> bool:
        return caches(body, query) and await self._extractor.has(_wish(body), caching(body, exchange.caller))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/extract",
                handler=self.extract_data,
                price="extract",
                peek=self._has,
                needs=Role.USER,
                tag="Extract",
                summary="Get data out of a page",
                description="Data that holds to your JSON Schema, each value with where it came from: "
                "structured data, meta elements, tables, labels, your own selectors, and, where the server "
                "has one, a language model. What the page does not say is in `missing`, never invented.",
                answers=ExtractAnswer,
                deadline=LONGEST_TIMEOUT / 1000 + llm.SECONDS + 30,
                problems=(
                    problems.INVALID_URL,
                    problems.INVALID_TTL,
                    problems.INVALID_SELECTOR,
                    problems.UNPROCESSABLE_ENTITY,
                    problems.FETCH_FAILED,
                    problems.FETCH_TIMEOUT,
                    problems.RENDER_FAILED,
                    problems.CONTENT_TOO_LARGE,
                    problems.CONTENT_UNREADABLE,
                ),
                field_problems={"cacheTtl": problems.INVALID_TTL},
                example_body=ExtractRequest(
                    "https://example.com/rope",
                    schema={
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "price": {"type": "number"},
                            "colours": {
                                "type": "array",
                                "items": {"type": "string"},
                                "x-selector": ".colour",
                            },
                        },
                        "required": ["name"],
                    },
                ),
                example=_EXAMPLE,
            )
        ]


def _wish(body: ExtractRequest) -> Wish:
    return Wish(
        url=Url.parse(body.url),
        schema=_schema(body),
        instructions=body.instructions,
        ask_model=body.model,
        render=body.render,
        headers=sendable(body.headers),
        timeout=body.timeout / 1000,
    )


def _schema(body: ExtractRequest) -> Schema:
    if body.schema is not None and body.fields is not None:
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "`schema` and `fields` say the same in two ways; give one of them.",
            details={"reason": "schema_and_fields"},
        )
    if body.schema is not None:
        return schema.read(body.schema)
    if body.fields is not None:
        return schema.read(schema_of(body.fields))
    if not body.instructions.strip():
        raise validation_error(
            "Nothing is asked for.", hint="Say what is wanted: `schema`, `fields` or `instructions`."
        )
    return ANYTHING


def _answer(extracted: Extracted, part: Part, request_id: str, now: float) -> ExtractAnswer:
    return ExtractAnswer(
        url=extracted.url,
        final_url=extracted.final_url,
        status_code=extracted.status,
        outcome=extracted.outcome,
        outcome_reason=extracted.reason or UNSET,
        title=extracted.title,
        data=extracted.data,
        sources={at: _source(source) for at, source in extracted.sources.items()},
        missing=list(extracted.missing),
        rejected=[RejectedValue(one.path, one.reason) for one in extracted.rejected] or UNSET,
        valid=extracted.valid,
        tier="pro" if extracted.via == "render" else "basic",
        content_type=extracted.media_type,
        fetched_at=moments.iso(extracted.fetched_at),
        fetch_time=extracted.elapsed_ms,
        request_id=request_id,
        model=_model(extracted.model) if extracted.model else UNSET,
        truncated=extracted.cut or UNSET,
        cache=cache_metadata(part, now),
    )


def _source(source: Source) -> ValueSource:
    return ValueSource(source.kind, source.path, source.text or UNSET, source.derived or UNSET)


def _model(asked: Asked) -> ModelUse:
    return ModelUse(
        asked.name,
        "failed" if asked.failure else "ok",
        asked.input_tokens,
        asked.output_tokens,
        asked.failure or UNSET,
    )


_EXAMPLE: Final = _answer(
    Extracted(
        url="https://example.com/rope",
        final_url="https://example.com/rope",
        status=200,
        media_type="text/html",
        via="fetch",
        outcome=Outcome.OK,
        reason="",
        title="Silk rope",
        data={"name": "Silk rope", "price": 1299.0},
        sources={
            "/name": Source("json-ld", "script[1].name"),
            "/price": Source("json-ld", "script[1].offers.price", "1299.00"),
        },
        missing=("/colours",),
        rejected=(),
        valid=True,
        cut=False,
        fetched_at=1_767_268_800.0,
        elapsed_ms=120,
    ),
    Part(),
    "wl_m5x7k2qa_a3b9c1",
    1_767_268_800.0,
)
