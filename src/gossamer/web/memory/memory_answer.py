"""What calls of memory are answered with."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.web.memory.memory_entry import MemoryEntry, MemoryVersion
from gossamer.web.memory.memory_names import DEFAULT_NAMESPACE
from gossamer.web.memory.memory_request import Namespace
from gossamer.web.search.search_answer import SearchPassage


class MemoryNamespace(msgspec.Struct, rename="camel"):
    """A namespace, and how much is in it."""

    name: str
    entries: int
    bytes: Annotated[int, Meta(description="Of values, earlier versions included.")]
    created_at: str


class MemoryOverview(msgspec.Struct, rename="camel"):
    """What you have remembered, and how much you may."""

    entries: Annotated[int, Meta(description="Those that have expired count until they are removed.")]
    bytes: Annotated[int, Meta(description="Of values, earlier versions included.")]
    max_entries: Annotated[int | None, Meta(description="`null`: there is no bound.")]
    max_bytes: Annotated[int | None, Meta(description="`null`: there is no bound.")]
    namespaces: Annotated[list[MemoryNamespace], Meta(description="By name.")]


class MemoryKey(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Where an entry is."""

    key: str
    namespace: Namespace = DEFAULT_NAMESPACE


class EntryList(msgspec.Struct, rename="camel"):
    """Entries of a namespace in the order of their keys, without their values."""

    entries: list[MemoryEntry]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` to get the next ones.")]


class EntriesFound(msgspec.Struct, rename="camel"):
    """Entries in the order in which they were asked for."""

    entries: list[MemoryEntry]
    missing: Annotated[list[MemoryKey], Meta(description="What is not there.")]


class EntriesWritten(msgspec.Struct, rename="camel"):
    """Entries as they are now, without their values."""

    entries: list[MemoryEntry]


class EntriesDeleted(msgspec.Struct, rename="camel"):
    """What was deleted."""

    deleted: Annotated[int, Meta(description="Entries.")]


class EntriesImported(msgspec.Struct, rename="camel"):
    """What was imported."""

    imported: Annotated[int, Meta(description="Entries. Those whose time is over are among them.")]


class VersionList(msgspec.Struct, rename="camel"):
    """The versions of an entry that are kept, the newest first."""

    namespace: str
    key: str
    versions: list[MemoryVersion]


class MemoryHit(msgspec.Struct, rename="camel"):
    """An entry that was found."""

    entry: Annotated[MemoryEntry, Meta(description="Without its value.")]
    snippet: Annotated[str, Meta(description="Plain text; matches are between double asterisks.")]
    score: Annotated[float, Meta(description="From 0 to 1; 1 is first in every ranking.")]
    passages: Annotated[
        list[SearchPassage] | UnsetType,
        Meta(
            description="The best parts, the best first. The `url` scrolls to it on its page; it is empty if "
            "the entry is none."
        ),
    ] = UNSET
    missing: Annotated[
        list[str] | UnsetType, Meta(description="Words of the question that the entry does not have.")
    ] = UNSET


class MemorySearchAnswer(msgspec.Struct, rename="camel"):
    """What was found, the best first."""

    query: str
    results: list[MemoryHit]
    corrected: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="Words that no entry has, and the known words that were searched for instead."),
    ] = UNSET
    partial: Annotated[
        bool, Meta(description="The search took too long, and this is what was found until then.")
    ] = False
