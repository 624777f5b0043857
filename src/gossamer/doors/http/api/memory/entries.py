"""Entries of memory over HTTP: one by its address, or several in a call."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.memory.memory_shapes import (
    EXAMPLE_ENTRY,
    EXAMPLE_PAGE,
    MAX_BODY,
    PAGE_PRICE,
    PRICE,
    EntriesQuery,
    EntryKeys,
    EntryQuery,
    KeyedPage,
    NewEntries,
    charge,
    etag_of,
    expected_version,
    precondition,
)
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.negotiation import is_known
from gossamer.doors.http.core.routing import Other, Route
from gossamer.doors.http.layers.limiting import within_limits
from gossamer.flows.memory.memory import Memory, no_entry
from gossamer.flows.memory.memory_pages import MemoryPages
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.tenants.tenants import Role
from gossamer.web.memory.memory_answer import (
    EntriesDeleted,
    EntriesFound,
    EntriesWritten,
    EntryList,
    MemoryKey,
    VersionList,
)
from gossamer.web.memory.memory_entry import MemoryEntry
from gossamer.web.memory.memory_names import check_key, check_namespace
from gossamer.web.memory.memory_request import MemoryPage, MemoryValue, MemoryWrite
from gossamer.web.pages.page_request import MAX_TIMEOUT

TAG: Final = "Memory"
_NAMES: Final = {"namespace": "The namespace.", "key": "The key; it may have slashes."}
_ETAG: Final = {"ETag": "The version in quotes, for If-Match."}


class MemoryEntriesEndpoints(Struct, frozen=True):
    memory: Memory
    pages: MemoryPages
    upgrade_url: str

    async def list_entries(self, exchange: Exchange, query: EntriesQuery) -> EntryList:
        found = await self.memory.listing(
            exchange.caller,
            check_namespace(query.namespace),
            prefix=query.prefix,
            tag=query.tag,
            after=query.cursor,
            limit=query.limit + 1,
        )
        charge(exchange)
        shown = found[: query.limit]
        return EntryList(shown, shown[-1].key if len(found) > query.limit else None)

    async def get_entry(self, exchange: Exchange, namespace: str, key: str, query: EntryQuery) -> Response:
        entry = await self.memory.get_one(exchange.caller, _place(namespace, key), query.version)
        charge(exchange)
        headers = {"ETag": etag_of(entry)}
        if query.version is None and is_known(exchange.header(b"if-none-match"), headers["ETag"]):
            return Response(status_code=304, headers=headers)
        return answer(entry, headers=headers)

    async def put_entry(self, exchange: Exchange, namespace: str, key: str, body: MemoryValue) -> Response:
        expected = expected_version(exchange, body.if_version)
        asked = MemoryWrite.of(namespace, key, replace(body, if_version=expected))
        try:
            (entry,) = await self.memory.put(exchange.caller, [asked])
        except Problem as problem:
            raise precondition(exchange, problem) from None
        return _written(exchange, entry)

    async def delete_entry(self, exchange: Exchange, namespace: str, key: str) -> EntriesDeleted:
        expected, place = expected_version(exchange), _place(namespace, key)
        try:
            deleted = await self.memory.delete(exchange.caller, [place], expected)
        except Problem as problem:
            raise precondition(exchange, problem) from None
        if not deleted:
            raise no_entry(place)
        charge(exchange)
        return EntriesDeleted(deleted)

    async def list_versions(self, exchange: Exchange, namespace: str, key: str) -> VersionList:
        versions = await self.memory.versions(exchange.caller, _place(namespace, key))
        charge(exchange)
        return VersionList(namespace, key, versions)

    # Several in a call.

    async def put_entries(self, exchange: Exchange, body: NewEntries) -> Response:
        async def remember(connection: AsyncConnection, written: list[MemoryEntry]) -> None:
            await exchange.remember(connection, answer(EntriesWritten(written)))

        written = await self.memory.put(exchange.caller, body.entries, remember)
        charge(exchange)
        return answer(EntriesWritten(written))

    async def get_entries(self, exchange: Exchange, body: EntryKeys) -> EntriesFound:
        pairs = _places(body)
        found = await self.memory.get(exchange.caller, pairs)
        charge(exchange)
        return EntriesFound(
            [found[pair] for pair in pairs if pair in found],
            [MemoryKey(key, namespace) for namespace, key in pairs if (namespace, key) not in found],
        )

    async def delete_entries(self, exchange: Exchange, body: EntryKeys) -> EntriesDeleted:
        deleted = await self.memory.delete(exchange.caller, _places(body))
        charge(exchange)
        return EntriesDeleted(deleted)

    # Pages by their address.

    async def put_page(self, exchange: Exchange, namespace: str, key: str, body: MemoryPage) -> Response:
        expected = expected_version(exchange, body.if_version)
        try:
            entry = await self._remember(exchange, namespace, key, replace(body, if_version=expected))
        except Problem as problem:
            raise precondition(exchange, problem) from None
        return _written(exchange, entry)

    async def post_page(self, exchange: Exchange, body: KeyedPage) -> Response:
        return _written(exchange, await self._remember(exchange, body.namespace, body.key, body))

    async def _remember(self, exchange: Exchange, namespace: str, key: str, body: MemoryPage) -> MemoryEntry:
        async def remember(connection: AsyncConnection, written: list[MemoryEntry]) -> None:
            await exchange.remember(connection, _answered(written[0]))

        await exchange.body()
        work = self.pages.remember(exchange.caller, _place(namespace, key), body, remember)
        return await within_limits(exchange, self.upgrade_url, exchange.unless_gone(work))

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": TAG, "price": PRICE, "control": True}
        one: dict[str, Any] = {**common, "path": "/memory/entries/{namespace}/{key*}", "parameters": _NAMES}
        writing: dict[str, Any] = {"max_body_bytes": MAX_BODY, "answers": MemoryEntry, "headers": _ETAG}
        refused = (problems.QUOTA_EXCEEDED, problems.VERSION_CONFLICT)
        kept = EXAMPLE_ENTRY
        return [
            Route(
                method="GET",
                path="/memory/entries",
                handler=self.list_entries,
                summary="List the entries of a namespace",
                description="By their keys, without their values.",
                example_body=EntriesQuery("research", prefix="pl"),
                example=EntryList([_without_value(kept)], None),
                **common,
            ),
            Route(
                method="POST",
                path="/memory/entries",
                handler=self.put_entries,
                summary="Remember several values",
                description="All of them or, if one is refused, none. With an `Idempotency-Key` it happens "
                "once, however often it is sent.",
                answers=EntriesWritten,
                max_body_bytes=MAX_BODY,
                problems=(problems.NOT_FOUND, *refused),
                example_body=NewEntries((MemoryWrite(namespace="research", key="plan", value={"step": 2}),)),
                example=EntriesWritten([_without_value(kept)]),
                **common,
            ),
            Route(
                method="POST",
                path="/memory/entries/get",
                handler=self.get_entries,
                summary="Get several entries",
                example_body=EntryKeys((MemoryKey("plan", "research"), MemoryKey("gone", "research"))),
                example=EntriesFound([kept], [MemoryKey("gone", "research")]),
                **common,
            ),
            Route(
                method="POST",
                path="/memory/entries/delete",
                handler=self.delete_entries,
                summary="Delete several entries",
                description="With all their versions. Those that are not there do not matter.",
                example_body=EntryKeys((MemoryKey("plan", "research"),)),
                example=EntriesDeleted(1),
                **common,
            ),
            Route(
                method="GET",
                handler=self.get_entry,
                summary="Get an entry",
                answers=MemoryEntry,
                problems=(problems.NOT_FOUND,),
                headers=_ETAG,
                others=(Other(status=304, about="With `If-None-Match`: it is the one that you have."),),
                example=kept,
                **one,
            ),
            Route(
                method="PUT",
                handler=self.put_entry,
                summary="Remember a value",
                description="Replaces what was there, which becomes an earlier version. With `ifVersion`, "
                "or the headers `If-Match` and `If-None-Match: *`, only if nobody else was faster.",
                problems=(problems.NOT_FOUND, problems.PRECONDITION_FAILED, *refused),
                example_body=MemoryValue(value="# Plan\n\nRead three sources first.", format="markdown"),
                example=_without_value(kept),
                **writing,
                **one,
            ),
            Route(
                method="DELETE",
                handler=self.delete_entry,
                summary="Delete an entry",
                description="With all its versions. `If-Match` makes it conditional.",
                problems=(problems.NOT_FOUND, problems.PRECONDITION_FAILED),
                example=EntriesDeleted(1),
                **one,
            ),
            Route(
                method="GET",
                path="/memory/versions/{namespace}/{key*}",
                handler=self.list_versions,
                summary="List the versions of an entry",
                description="Get one with `version`, and write it again with `restore`.",
                problems=(problems.NOT_FOUND,),
                parameters=_NAMES,
                example=VersionList("research", "plan", []),
                **common,
            ),
            *self._page_routes(),
        ]

    def _page_routes(self) -> list[Route]:
        common: dict[str, Any] = {
            "needs": Role.USER,
            "tag": TAG,
            "price": PAGE_PRICE,
            "deadline": MAX_TIMEOUT / 1000 + 15,
            "answers": MemoryEntry,
            "headers": _ETAG,
            "example": EXAMPLE_PAGE,
            "problems": (
                problems.INVALID_URL,
                problems.NOT_FOUND,
                problems.UNPROCESSABLE_ENTITY,
                problems.FETCH_FAILED,
                problems.FETCH_TIMEOUT,
                problems.RENDER_FAILED,
                problems.CONTENT_TOO_LARGE,
                problems.CONTENT_UNREADABLE,
                problems.QUOTA_EXCEEDED,
                problems.VERSION_CONFLICT,
                problems.PRECONDITION_FAILED,
            ),
        }
        about = (
            "The page is read as `/fetch` reads it, and its markdown is kept with its title and the time. "
            "Only the page that was asked for is remembered: if its outcome is not `ok`, the answer is 422, "
            "and what was there stays. Without `url`, the page of the entry is read again."
        )
        return [
            Route(
                method="PUT",
                path="/memory/pages/{namespace}/{key*}",
                handler=self.put_page,
                summary="Remember a page by its address, or read it again",
                description=about,
                parameters=_NAMES,
                example_body=MemoryPage(url="https://example.com/rope"),
                **common,
            ),
            Route(
                method="POST",
                path="/memory/pages",
                handler=self.post_page,
                summary="Remember a page by its address, once",
                description=f"{about} With an `Idempotency-Key` it happens once, however often it is sent.",
                example_body=KeyedPage(namespace="research", key="rope", url="https://example.com/rope"),
                **common,
            ),
        ]


def _place(namespace: str, key: str) -> tuple[str, str]:
    return check_namespace(namespace), check_key(key)


def _places(asked: EntryKeys) -> Sequence[tuple[str, str]]:
    return [_place(*pair) for pair in asked.pairs]


def _without_value(entry: MemoryEntry) -> MemoryEntry:
    return replace(entry, value=UNSET)


def _answered(entry: MemoryEntry) -> Response:
    return answer(entry, headers={"ETag": etag_of(entry)})


def _written(exchange: Exchange, entry: MemoryEntry) -> Response:
    charge(exchange)
    return _answered(entry)
