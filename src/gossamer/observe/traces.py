"""Traces for OpenTelemetry: from the door to the socket. Without a collector they cost a comparison.

A request that names no trace of its own gets one that is made from its id. So the jobs that it queues, which
know only that id, are in the same trace, in whatever process they run. Nothing is sent to fetched sites.
Attributes are names and numbers of ours, never addresses, bodies or messages of callers.
"""

import hashlib
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from opentelemetry.trace import Span

EXPORT_SECONDS: Final = 5.0
_HEADERS: Final = ("traceparent", "tracestate")


class RequestSpan(Protocol):
    def describe(self, method: str, route: str, status: int) -> None:
        """Name the span, when that is known."""


class _NoSpan:
    def describe(self, method: str, route: str, status: int) -> None:
        """There is nothing to name."""


_NOTHING: Final = nullcontext()
_NO_REQUEST: Final = nullcontext(_NoSpan())
_tracing: "Tracing | None" = None  # of this process


def span(name: str, **attributes: str | int) -> AbstractContextManager[Any]:
    """A part of the current request or job."""
    return _NOTHING if _tracing is None else _tracing.span(name, attributes)


def request_span(
    request_id: str, headers: Iterable[tuple[bytes, bytes]]
) -> AbstractContextManager[RequestSpan]:
    return _NO_REQUEST if _tracing is None else _tracing.request(request_id, headers)


def job_span(kind: str, job_id: str, request_id: str) -> AbstractContextManager[Any]:
    return _NOTHING if _tracing is None else _tracing.job(kind, job_id, request_id)


def install(endpoint: str, *, version: str, instance: str) -> None:
    """Send the spans of this process to a collector."""
    global _tracing
    _tracing = Tracing(endpoint, version, instance)


def are_on() -> bool:
    return _tracing is not None


def close() -> None:
    """Send what is left. It may take as long as an export does."""
    global _tracing
    closing, _tracing = _tracing, None
    if closing is not None:
        closing.provider.shutdown()


class Tracing:
    def __init__(self, endpoint: str, version: str, instance: str) -> None:
        # Imported here: it is an extra, and takes a good part of a second.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

        self._first_span: ContextVar[tuple[int, int] | None] = ContextVar("first_span", default=None)
        first_span = self._first_span

        class RequestIds(RandomIdGenerator):
            """Gives the first span of a request the ids that its jobs expect."""

            def generate_span_id(self) -> int:
                chosen = first_span.get()
                return chosen[1] if chosen else super().generate_span_id()

            def generate_trace_id(self) -> int:
                chosen = first_span.get()
                return chosen[0] if chosen else super().generate_trace_id()

        named = {"service.name": "gossamer", "service.version": version, "service.instance.id": instance}
        self.provider: TracerProvider = TracerProvider(
            resource=Resource.create(named), id_generator=RequestIds(), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=EXPORT_SECONDS)
        self.provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self.provider.get_tracer("gossamer", version)

    def span(self, name: str, attributes: dict[str, str | int]) -> "TracedBlock":
        return TracedBlock(self._tracer.start_span(name, attributes=attributes))

    def request(self, request_id: str, headers: Iterable[tuple[bytes, bytes]]) -> "TracedBlock":
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, get_current_span
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        given = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        carrier = {name: given[name] for name in _HEADERS if name in given}
        parent = TraceContextTextMapPropagator().extract(carrier, Context())
        is_named = get_current_span(parent).get_span_context().is_valid
        token = self._first_span.set(None if is_named else _ids(request_id))
        try:
            attributes = {"gossamer.request_id": request_id}
            made = self._tracer.start_span("request", parent, SpanKind.SERVER, attributes)
        finally:
            self._first_span.reset(token)
        return TracedBlock(made)

    def job(self, kind: str, job_id: str, request_id: str) -> "TracedBlock":
        from opentelemetry.context import Context
        from opentelemetry.trace import (
            NonRecordingSpan,
            SpanContext,
            SpanKind,
            TraceFlags,
            set_span_in_context,
        )

        parent = Context()
        if request_id:
            caused_by = SpanContext(
                *_ids(request_id), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
            )
            parent = set_span_in_context(NonRecordingSpan(caused_by), parent)
        named = {"gossamer.job_id": job_id, "gossamer.job_kind": kind, "gossamer.request_id": request_id}
        return TracedBlock(self._tracer.start_span(f"job {kind}", parent, SpanKind.CONSUMER, named))


class TracedBlock:
    """Makes a span the current one for a block. An error is known by its type alone."""

    __slots__ = ("_span", "_token")

    def __init__(self, made: "Span") -> None:
        self._span = made

    def __enter__(self) -> "TracedBlock":
        from opentelemetry import context
        from opentelemetry.trace import set_span_in_context

        self._token = context.attach(set_span_in_context(self._span))
        return self

    def describe(self, method: str, route: str, status: int) -> None:
        self._span.update_name(f"{method} {route}")
        self._span.set_attributes(
            {"http.request.method": method, "http.route": route, "http.response.status_code": status}
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        from opentelemetry import context
        from opentelemetry.trace import StatusCode

        if kind is not None:
            self._span.set_attribute("error.type", kind.__name__)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
        context.detach(self._token)


def _ids(request_id: str) -> tuple[int, int]:
    """Of the trace and of its first span."""
    digest = hashlib.sha256(request_id.encode()).digest()
    return int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
