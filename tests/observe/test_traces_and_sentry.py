"""Traces reach a collector, and unexpected errors reach Sentry; neither learns a secret, and no site learns
of them."""

import asyncio
import gzip
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import brotli
import msgspec
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.doors.renders import at_work
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.site.server import Site

from gossamer.observe import traces
from gossamer.observe.logs import Log
from gossamer.observe.sentry import Sentry

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


_CODINGS = {"": bytes, "gzip": gzip.decompress, "br": brotli.decompress}


@dataclass
class Collector:
    """Takes what is posted."""

    posts: list[tuple[str, bytes]] = field(default_factory=list)
    url: str = ""
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = field(default_factory=dict)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections[task] = writer
        while head := await self._head(reader):
            first, *lines = head.split("\r\n")
            headers = {
                line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines if line
            }
            body = await self._body(reader, headers)
            body = _CODINGS[headers.get("content-encoding", "")](body)
            self.posts.append((first.split()[1], body))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()

    async def _head(self, reader: asyncio.StreamReader) -> str:
        try:
            return (await reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, ConnectionError):
            return ""

    async def _body(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
        if "content-length" in headers:
            return await reader.readexactly(int(headers["content-length"]))
        chunks = []
        while size := int(await reader.readline(), 16):
            chunks.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return b"".join(chunks)

    def spans(self) -> list[Span]:
        found = []
        for path, body in self.posts:
            assert path == "/v1/traces"
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found += [span for scope in resource.scope_spans for span in scope.spans]
        return found


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    made = Collector()
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield made
    server.close()
    for writer in made.connections.values():
        writer.close()
    await asyncio.gather(*made.connections)


OPEN = {"egress_allow": "127.0.0.0/8", "egress_ports": "*"}


async def test_a_request_is_traced_from_the_door_to_the_socket(
    visiting: Visiting, collector: Collector, site: Site
) -> None:
    body = {"url": site.url("/ok?traced"), "cache": True}
    async with visiting(otel_endpoint=collector.url, **OPEN) as visit:
        named = {**AS_ADMIN, "traceparent": PARENT}
        answer = await visit.client.post("/fetch/basic", json=body, headers=named)
        assert answer.status_code == 200, answer.text
        request_id = answer.headers["x-request-id"]
    assert not traces.are_on()  # the last spans are sent by the end of the service
    spans = [span for span in collector.spans() if span.trace_id.hex() == TRACE]
    names = {span.name for span in spans}
    assert {"POST /fetch/basic", "cache lookup", "fetch hop", "dial"} <= names
    (first,) = [span for span in spans if span.name == "POST /fetch/basic"]
    assert first.parent_span_id.hex() == PARENT.split("-")[2]
    attributes = {one.key: one.value for one in first.attributes}
    assert attributes["http.response.status_code"].int_value == 200
    assert attributes["gossamer.request_id"].string_value == request_id
    by_id = {span.span_id: span for span in spans}
    (dial,) = [span for span in spans if span.name == "dial"]
    assert by_id[dial.parent_span_id].name == "fetch hop"
    (seen,) = site.seen("/ok?traced")
    assert not any(name.lower() in ("traceparent", "tracestate") for name, _ in seen.headers)
    assert AS_ADMIN["Authorization"].encode() not in b"".join(body for _, body in collector.posts)


async def test_a_job_is_in_the_trace_of_its_request(visiting: Visiting, collector: Collector) -> None:
    async with visiting(otel_endpoint=collector.url, **OPEN) as visit:
        queued = await visit.client.post("/batch/fetch", json=BATCH, headers=AS_ADMIN)
        assert queued.status_code == 202, queued.text
        async with at_work(visit), asyncio.timeout(30):
            while not visit.logged("job"):
                await asyncio.sleep(0.01)
    spans = collector.spans()
    (asked,) = [span for span in spans if span.name == "POST /batch/fetch"]
    jobs = [span for span in spans if span.name == "job batch"]
    assert {(job.trace_id, job.parent_span_id) for job in jobs} == {(asked.trace_id, asked.span_id)}


async def test_without_a_collector_there_is_nothing() -> None:
    assert not traces.are_on()
    with traces.request_span("wl_1", []) as span, traces.span("part"), traces.job_span("k", "j", "r"):
        span.describe("GET", "/", 200)
    assert traces.span("a") is traces.span("b")


BATCH = {"urls": ["http://127.0.0.1:9/"]}


async def test_an_unexpected_error_is_reported_without_secrets(
    visiting: Visiting, collector: Collector
) -> None:
    dsn = collector.url.replace("http://", "http://public@") + "/7"
    async with visiting(sentry_dsn=dsn) as visit:
        await cause(visit, "/test/fail/defect", 500)
        await cause(visit, "/nowhere", 404)
    (envelope,) = [body for path, body in collector.posts if path == "/api/7/envelope/"]
    event = msgspec.json.decode(envelope.split(b"\n")[2])
    assert event["tags"]["event"] == "internal_error"
    assert event["tags"]["requestId"].startswith("wl_")
    (found,) = event["exception"]["values"]
    assert found["type"]
    assert all("vars" not in frame for frame in found["stacktrace"]["frames"])
    assert "request" not in event
    assert AS_ADMIN["Authorization"].encode() not in envelope


async def cause(visit: Visit, path: str, status: int) -> None:
    method = "POST" if status == 500 else "GET"
    assert (await visit.client.request(method, path, headers=AS_ADMIN)).status_code == status


async def test_messages_are_redacted_and_warnings_are_not_reported(collector: Collector) -> None:
    sentry = Sentry(collector.url.replace("http://", "http://public@") + "/7", version="0", instance="a")
    log = Log(io.StringIO())
    log.on_defect = sentry.report
    error = ValueError("bad key sk_live_0123456789abcdefghij")
    log.warning("only_a_warning", cause=error)
    log.error("defect", cause=error, token="sk_live_0123456789abcdefghij")
    await asyncio.to_thread(sentry.close)
    (body,) = [body for _, body in collector.posts]
    assert b"bad key [REDACTED]" in body
    assert b"0123456789abcdefghij" not in body
