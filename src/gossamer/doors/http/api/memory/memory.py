"""Memory as a whole over HTTP: what there is, search, export, import and deletion."""

from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import EXAMPLE_DELETION, ShownJob, accept
from gossamer.doors.http.api.memory.entries import TAG
from gossamer.doors.http.api.memory.memory_shapes import (
    EXAMPLE_ENTRY,
    MAX_BODY,
    PRICE,
    ExportQuery,
    MemorySearchQuery,
    MemorySearchRequest,
    charge,
)
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Other, Route
from gossamer.doors.http.core.streaming import Streaming
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.memory_removal import forgetting
from gossamer.flows.memory import memory_search
from gossamer.flows.memory.memory import Memory
from gossamer.flows.memory.memory_search import FoundEntry, MemorySearch
from gossamer.flows.webhooks.webhook_keys import owner_of
from gossamer.problems import Problem, validation_error
from gossamer.state.tenants.tenants import Role
from gossamer.web.memory.memory_answer import (
    EntriesDeleted,
    EntriesImported,
    MemoryHit,
    MemoryNamespace,
    MemoryOverview,
    MemorySearchAnswer,
)
from gossamer.web.memory.memory_names import check_namespace, check_tags
from gossamer.web.memory.memory_request import MemoryLine
from gossamer.web.search.fusion import FoundPassage
from gossamer.web.search.question import Question
from gossamer.web.search.search_answer import SearchPassage

NDJSON: Final = "application/x-ndjson"
MAX_IMPORTED: Final = 1_000  # lines in one call
WRITTEN_AT_ONCE: Final = 50
EXPORT_SECONDS: Final = 600.0

_decoder: Final = msgspec.json.Decoder(MemoryLine)


class MemoryEndpoints(Struct, frozen=True):
    memory: Memory
    search: MemorySearch
    deleter: Deleter

    async def get_overview(self, exchange: Exchange) -> MemoryOverview:
        sizes = await self.memory.sizes(exchange.caller)
        charge(exchange)
        return MemoryOverview(
            entries=sizes.size.entries,
            bytes=sizes.size.bytes,
            max_entries=sizes.bounds.entries,
            max_bytes=sizes.bounds.bytes,
            namespaces=[
                MemoryNamespace(
                    one.name, one.size.entries, one.size.bytes, timestamps.from_ms(one.created_at)
                )
                for one in sizes.namespaces
            ],
        )

    async def search_memory(self, exchange: Exchange, body: MemorySearchRequest) -> MemorySearchAnswer:
        if not body.query.strip():
            raise validation_error("`query` is blank.", hint="Say what to search for.")
        namespaces = [check_namespace(name) for name in dict.fromkeys(body.namespaces)]
        question = Question.parse(body.query, limit=body.limit)
        found = await self.search.find(exchange.caller, question, namespaces, check_tags(body.tags))
        charge(exchange)
        return MemorySearchAnswer(
            body.query,
            [_to_hit(one) for one in found.found],
            dict(found.corrected) or UNSET,
            partial=not found.complete,
        )

    async def search_by_query(self, exchange: Exchange, query: MemorySearchQuery) -> MemorySearchAnswer:
        return await self.search_memory(exchange, query.to_request())

    async def export_memory(self, exchange: Exchange, query: ExportQuery) -> Response:
        name = None if query.namespace is None else check_namespace(query.namespace)
        charge(exchange)
        headers = {"Content-Disposition": 'attachment; filename="memory.ndjson"'}
        return Streaming(self._lines(exchange, name), media_type=NDJSON, headers=headers)

    async def _lines(self, exchange: Exchange, namespace: str | None) -> AsyncIterator[bytes]:
        async for entry in self.memory.export(exchange.caller, namespace):
            yield msgspec.json.encode(entry) + b"\n"

    async def import_memory(self, exchange: Exchange) -> EntriesImported:
        """In several transactions, so that each is short; if one is refused, the others are kept."""
        lines = _read_lines(await exchange.body())
        imported = 0
        try:
            for start in range(0, len(lines), WRITTEN_AT_ONCE):
                some = lines[start : start + WRITTEN_AT_ONCE]
                imported += await self.memory.import_lines(exchange.caller, some)
        except Problem as problem:
            problem.add_details(imported=imported)
            raise
        charge(exchange)
        return EntriesImported(imported)

    async def delete_namespace(self, exchange: Exchange, namespace: str) -> Response:
        return await self._delete(exchange, check_namespace(namespace))

    async def delete_everything(self, exchange: Exchange) -> Response:
        return await self._delete(exchange, None)

    async def _delete(self, exchange: Exchange, namespace: str | None) -> Response:
        """A little is deleted at once, much by a job."""
        deleted = await self.memory.delete_if_small(exchange.caller, namespace)
        charge(exchange)
        if deleted is not None:
            return answer(EntriesDeleted(deleted))
        deletion = forgetting(owner_of(exchange.caller), namespace or "")
        job = await self.deleter.accept(deletion, exchange.caller.tenant_id, exchange.actor)
        if job is None:
            raise Problem(problems.NOT_FOUND, "There is nothing to delete.")
        return accept(job)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": TAG, "price": PRICE, "control": True}
        searching: dict[str, Any] = {
            "deadline": memory_search.SECONDS + 15,
            "example": _EXAMPLE_SEARCH,
            "needs": Role.USER,
            "tag": TAG,
            "price": PRICE,
        }
        about = (
            "By words, with the ranking of `/search`, and by meaning where the server has an embedding "
            "model. Entries need not have all words: what they lack is `missing`. `/search` finds no memory."
        )
        deletes: dict[str, Any] = {
            "answers": EntriesDeleted,
            "problems": (problems.NOT_FOUND,),
            "example": EntriesDeleted(12),
            "others": (
                Other(
                    status=202,
                    about="There is much: it is hidden at once, and a job removes it.",
                    answers=ShownJob,
                    example=EXAMPLE_DELETION,
                ),
            ),
        }
        return [
            Route(
                method="GET",
                path="/memory",
                handler=self.get_overview,
                summary="Get what you have remembered, by namespace",
                description="Memory belongs to a tenant or, for callers who pay by the call, to the wallet: "
                "each call is paid by the wallet whose memory it is about.",
                example=MemoryOverview(
                    12,
                    48_120,
                    10_000,
                    50_000_000,
                    [MemoryNamespace("research", 12, 48_120, "2026-01-01T12:00:00.000Z")],
                ),
                **common,
            ),
            Route(
                method="DELETE",
                path="/memory",
                handler=self.delete_everything,
                summary="Delete everything that you have remembered",
                **deletes,
                **common,
            ),
            Route(
                method="DELETE",
                path="/memory/namespaces/{namespace}",
                handler=self.delete_namespace,
                summary="Delete a namespace",
                parameters={"namespace": "The namespace."},
                **deletes,
                **common,
            ),
            Route(
                method="POST",
                path="/memory/search",
                handler=self.search_memory,
                summary="Search what you have remembered",
                description=about,
                example_body=MemorySearchRequest("which sources first", ("research",)),
                **searching,
            ),
            Route(
                method="GET",
                path="/memory/search",
                handler=self.search_by_query,
                summary="Search what you have remembered, by an address",
                description=about,
                example_body=MemorySearchQuery("which sources first", "research"),
                **searching,
            ),
            Route(
                method="GET",
                path="/memory/export",
                handler=self.export_memory,
                summary="Export everything that you have remembered",
                description="One entry a line, as JSON, by namespace and key. Earlier versions stay.",
                media_type=NDJSON,
                deadline=EXPORT_SECONDS,
                example=msgspec.json.encode(EXAMPLE_ENTRY).decode() + "\n",
                **common,
            ),
            Route(
                method="POST",
                path="/memory/import",
                handler=self.import_memory,
                summary="Import what was exported",
                description=f"Up to {MAX_IMPORTED:,} lines of an export, in the body as `{NDJSON}`. What is "
                "there already gets a new version. If an entry is refused, `details.imported` says how many "
                "were written before.",
                deadline=120.0,
                max_body_bytes=MAX_BODY,
                problems=(problems.QUOTA_EXCEEDED,),
                example=EntriesImported(12),
                **common,
            ),
        ]


def _read_lines(body: bytes) -> list[MemoryLine]:
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not lines or len(lines) > MAX_IMPORTED:
        raise validation_error(f"There are {len(lines):,} lines; send 1 to {MAX_IMPORTED:,} of an export.")
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(_decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise validation_error(f"Line {number} is not an entry of an export: {error}.") from None
    return found


def _to_hit(found: FoundEntry) -> MemoryHit:
    hit = found.ranked.hit
    url = found.entry.source.final_url if found.entry.source else ""
    return MemoryHit(
        entry=found.entry,
        snippet=hit.snippet,
        score=round(found.ranked.score, 4),
        passages=[_to_passage(one, url) for one in hit.passages] or UNSET,
        missing=list(hit.missing) or UNSET,
    )


def _to_passage(found: FoundPassage, url: str) -> SearchPassage:
    """The index knows an entry by an address of its own; what scrolls is the same on the page."""
    fragment = found.url.partition("#")[2]
    return SearchPassage(list(found.headings), found.snippet, f"{url}#{fragment}" if url else "")


_EXAMPLE_SEARCH: Final = MemorySearchAnswer(
    "which sources first",
    [
        MemoryHit(
            entry=msgspec.structs.replace(EXAMPLE_ENTRY, value=UNSET),
            snippet="Read three **sources** **first**.",
            score=1.0,
            passages=[SearchPassage(["Plan"], "Read three **sources** **first**.", "")],
        )
    ],
)
