"""Pages that are remembered by their address, and read again."""

from msgspec import Struct

from gossamer import problems
from gossamer.flows.memory.memory import Memory, OnWritten, no_entry, prepare
from gossamer.flows.memory.page_reader import MemoryPageReader
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem
from gossamer.state.memory.entries import EntryKey
from gossamer.web.html.dates import unix_time
from gossamer.web.memory.memory_entry import MemoryEntry
from gossamer.web.memory.memory_names import check_tags
from gossamer.web.memory.memory_request import MAX_TITLE_CHARS, MemoryPage


class MemoryPages(Struct, frozen=True):
    memory: Memory
    reader: MemoryPageReader

    async def remember(
        self, caller: Caller, key: EntryKey, asked: MemoryPage, on_written: OnWritten | None = None
    ) -> MemoryEntry:
        """Read a page and keep it. Raises `Problem` if it is not the page that was asked for."""
        check_tags(asked.tags or ())
        known = None if asked.url else await self._known(caller, key)
        url = asked.url or (known.source.url if known is not None and known.source else "")
        page = await self.reader.read(url, caller, max_age=asked.max_age, render=asked.render)
        new = await prepare(
            namespace=key[0],
            key=key[1],
            value=page.markdown,
            format_="markdown",
            title=(asked.title or page.title)[:MAX_TITLE_CHARS],
            tags=asked.tags or (known.tags if known is not None else ()),
            source=page.source,
            ttl_ms=None if asked.ttl is None else asked.ttl * 1000,
            expires_at=_expiry(known),
            if_version=asked.if_version,
        )
        return (await self.memory.write(caller, [new], on_written))[0]

    async def _known(self, caller: Caller, key: EntryKey) -> MemoryEntry:
        """The entry whose page is read again."""
        found = (await self.memory.get(caller, [key])).get(key)
        if found is None:
            raise no_entry(key)
        if not found.source:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "This entry is not a page, so there is nothing to read again.",
                hint="Give the `url` of a page.",
                details={"reason": "not_a_page"},
            )
        return found


def _expiry(known: MemoryEntry | None) -> int | None:
    """When an entry that is read again ends, in milliseconds."""
    seconds = unix_time(known.expires_at) if known is not None and known.expires_at else None
    return None if seconds is None else round(seconds * 1000)
