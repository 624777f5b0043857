"""Memory: the calls about what was remembered, as `web.memory`."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Unpack
from urllib.parse import urlencode

import msgspec

from gossamer.client.calls.api_calls import ApiCalls, path_below
from gossamer.client.errors import GossamerError, raise_for
from gossamer.client.lines import read_lines
from gossamer.client.options import RememberedPageKeywords, ValueKeywords, body_of
from gossamer.client.transport import Call
from gossamer.web.memory.memory_answer import (
    EntriesDeleted,
    EntriesFound,
    EntriesImported,
    EntriesWritten,
    EntryList,
    MemoryOverview,
    MemorySearchAnswer,
    VersionList,
)
from gossamer.web.memory.memory_entry import MemoryEntry, MemoryVersion
from gossamer.web.memory.memory_names import DEFAULT_NAMESPACE

LISTED_AT_ONCE: Final = 500
IMPORTED_AT_ONCE: Final = 500  # lines
IMPORTED_BYTES: Final = 4_000_000


class MemoryCalls(ApiCalls):
    """What was remembered. An entry that is not there is None."""

    async def overview(self) -> MemoryOverview:
        """The namespaces, and how much is in them."""
        return await self.ask("GET", "/memory", MemoryOverview)

    async def get(
        self, key: str, *, namespace: str = DEFAULT_NAMESPACE, version: int | None = None
    ) -> MemoryEntry | None:
        if version is None:
            return (await self.get_many([(namespace, key)])).get((namespace, key))
        try:
            path = f"{path_below('/memory/entries', namespace, key)}?version={version}"
            return await self.ask("GET", path, MemoryEntry)
        except GossamerError as error:
            if error.status == 404:
                return None
            raise

    async def get_many(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], MemoryEntry]:
        """Entries by namespace and key, up to a hundred; those that are not there are left out."""
        asked = [{"namespace": namespace, "key": key} for namespace, key in keys]
        found = await self.ask("POST", "/memory/entries/get", EntriesFound, {"keys": asked})
        return {(entry.namespace, entry.key): entry for entry in found.entries}

    async def put(
        self,
        key: str,
        value: Any,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        **options: Unpack[ValueKeywords],
    ) -> MemoryEntry:
        """Remember a value: any JSON or, with the format text or markdown, a string."""
        body = {"key": key, "value": value, "namespace": namespace, **body_of("put", ValueKeywords, options)}
        return (await self.put_many([body]))[0]

    async def put_many(self, entries: Sequence[Mapping[str, Any]]) -> list[MemoryEntry]:
        """Remember up to a hundred values, as the HTTP API writes them: all, or if one is refused none."""
        body = {"entries": entries}
        return (await self.ask("POST", "/memory/entries", EntriesWritten, body)).entries

    async def restore(
        self,
        key: str,
        version: int,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        ttl: int | None = None,
        if_version: int | None = None,
    ) -> MemoryEntry:
        """Write what an earlier version had."""
        conditions = {"ttl": ttl, "ifVersion": if_version}
        body = {"key": key, "namespace": namespace, "restore": version, **conditions}
        return (await self.put_many([body]))[0]

    async def put_page(
        self,
        key: str,
        url: str | None = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        **options: Unpack[RememberedPageKeywords],
    ) -> MemoryEntry:
        """Read a page and remember it; without `url`, read the page of the entry again."""
        place = {"key": key, "namespace": namespace, **({} if url is None else {"url": url})}
        body = {**place, **body_of("put_page", RememberedPageKeywords, options)}
        return await self.ask("POST", "/memory/pages", MemoryEntry, body)

    async def list(
        self,
        namespace: str = DEFAULT_NAMESPACE,
        *,
        prefix: str = "",
        tag: str = "",
        limit: int = 100,
    ) -> list[MemoryEntry]:
        """Entries by their keys, without their values."""
        query = {"namespace": namespace, "prefix": prefix, "tag": tag}
        return await self.list_rows(
            "/memory/entries", EntryList, lambda page: page.entries, limit, query, most=LISTED_AT_ONCE
        )

    async def versions(self, key: str, *, namespace: str = DEFAULT_NAMESPACE) -> "Sequence[MemoryVersion]":
        """The versions that are kept, the newest first."""
        path = path_below("/memory/versions", namespace, key)
        return (await self.ask("GET", path, VersionList)).versions

    async def search(
        self,
        query: str,
        *,
        namespaces: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int = 10,
    ) -> MemorySearchAnswer:
        """Entries for a question, the best first."""
        body = {"query": query, "namespaces": namespaces, "tags": tags, "limit": limit}
        return await self.ask("POST", "/memory/search", MemorySearchAnswer, body)

    async def delete(self, key: str, *, namespace: str = DEFAULT_NAMESPACE) -> bool:
        """False: there was no such entry."""
        body = {"keys": [{"namespace": namespace, "key": key}]}
        return (await self.ask("POST", "/memory/entries/delete", EntriesDeleted, body)).deleted > 0

    async def delete_namespace(self, namespace: str) -> None:
        """With everything in it. Much is hidden at once, and removed by a job."""
        await self.send("DELETE", path_below("/memory/namespaces", namespace))

    async def delete_everything(self) -> None:
        await self.send("DELETE", "/memory")

    async def export(self, namespace: str | None = None) -> AsyncGenerator[MemoryEntry]:
        """All entries with their values."""
        query = "" if namespace is None else f"?{urlencode({'namespace': namespace})}"
        lines = read_lines(self.transport, f"/memory/export{query}", MemoryEntry)
        async with aclosing(lines):
            async for entry in lines:
                yield entry

    async def load(self, lines: AsyncIterable[bytes] | Iterable[bytes]) -> int:
        """Import the lines of an export; returns how many entries there were."""
        imported, waiting, size = 0, list[bytes](), 0
        async for line in _each(lines):
            if waiting and (len(waiting) >= IMPORTED_AT_ONCE or size + len(line) > IMPORTED_BYTES):
                imported += await self._load(waiting)
                waiting, size = [], 0
            waiting.append(line)
            size += len(line)
        return imported + (await self._load(waiting) if waiting else 0)

    async def _load(self, lines: Sequence[bytes]) -> int:
        """Not repeated by itself: half of it may have been written, and gets another version then."""
        headers = {"Content-Type": "application/x-ndjson", "Accept": "application/json"}
        call = Call("POST", "/memory/import", headers, b"\n".join(lines))
        reply = await self.transport.send(call)
        raise_for(reply)
        return msgspec.json.decode(reply.body, type=EntriesImported).imported


async def _each(lines: AsyncIterable[bytes] | Iterable[bytes]) -> AsyncGenerator[bytes]:
    """Lines that are not blank."""
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            if stripped := line.strip():
                yield stripped
    else:
        for line in lines:
            if stripped := line.strip():
                yield stripped
