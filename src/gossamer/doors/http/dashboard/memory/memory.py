"""The pages of memory: namespaces and their entries, one entry with its versions, search, and deletion."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer.doors.http.api.memory.entries import MemoryEntriesEndpoints
from gossamer.doors.http.api.memory.memory import MemoryEndpoints
from gossamer.doors.http.api.memory.memory_shapes import (
    EntriesQuery,
    ExportQuery,
    MemorySearchRequest,
)
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, given, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.problems import Problem
from gossamer.web.memory.memory_answer import EntryList, MemorySearchAnswer
from gossamer.web.memory.memory_request import MemoryValue

HERE: Final = "/app/memory"
NAMESPACE: Final = f"{HERE}/namespace"
ENTRY: Final = f"{HERE}/entry"
DELETE: Final = f"{HERE}/delete"
RESULTS: Final = 20
MAX_SHOWN_CHARS: Final = 200_000  # of a value


class MemoryPageQuery(msgspec.Struct):
    """What somebody searches for."""

    query: Annotated[str, Meta(max_length=400)] = ""
    namespace: Annotated[str, Meta(max_length=64)] = ""


class NamespacePageQuery(msgspec.Struct):
    """Which entries to show."""

    namespace: str = ""
    prefix: str = ""
    tag: str = ""
    cursor: str = ""


class EntryPageQuery(msgspec.Struct):
    """Which entry to show, or to delete. Without a key: a namespace; without both: everything."""

    namespace: str = ""
    key: str = ""
    version: str = ""


class RememberedPages(Struct, frozen=True):
    dashboard: Dashboard
    memory: MemoryEndpoints
    entries: MemoryEntriesEndpoints

    async def show(self, exchange: Exchange, query: MemoryPageQuery) -> Response:
        typed = Form({"query": query.query.strip(), "namespace": query.namespace}, action=HERE)
        overview = await self.memory.get_overview(exchange)
        answer: MemorySearchAnswer | None = None
        if typed["query"]:
            try:
                where = (query.namespace,) if query.namespace else ()
                request = MemorySearchRequest(typed["query"], where, limit=RESULTS)
                answer = await self.memory.search_memory(exchange, request)
            except Problem as problem:
                exchange.error = problem.kind.code
                typed = typed.refused(problem)
        return self._page(exchange, "memory.html", form=typed, overview=overview, answer=answer, most=RESULTS)

    async def show_namespace(self, exchange: Exchange, query: NamespacePageQuery) -> Response:
        chosen = filters(query, action=NAMESPACE)
        try:
            found = await self.entries.list_entries(exchange, chosen.to(EntriesQuery))
        except Problem as problem:
            exchange.error = problem.kind.code
            chosen, found = chosen.refused(problem), EntryList([], None)
        return self._page(
            exchange,
            "namespace.html",
            form=chosen,
            found=found,
            filtered=bool(given(chosen).keys() - {"namespace"}),
            **list_links(NAMESPACE, chosen, found.next_cursor),
        )

    async def show_entry(
        self, exchange: Exchange, query: EntryPageQuery | None = None, form: Form = NO_FORM
    ) -> Response:
        asked = query or EntryPageQuery(form["namespace"], form["key"])
        place = (asked.namespace, asked.key)
        version = int(asked.version) if asked.version.isdecimal() and len(asked.version) < 18 else None
        entry = await self.entries.memory.get_one(exchange.caller, place, version)
        versions = await self.entries.list_versions(exchange, *place)
        return self._page(
            exchange,
            "entry.html",
            form=form,
            entry=entry,
            versions=versions.versions,
            **_shown(entry.value, is_text=entry.format != "json"),
        )

    async def restore(self, exchange: Exchange, form: Form) -> Response:
        """Only if nobody has written meanwhile: whoever looks at a version has seen the newest, too."""
        place = (form["namespace"], form["key"])
        wanted = Form({"restore": form["version"], "ifVersion": form["current"]}).to(MemoryValue)
        await self.entries.put_entry(exchange, *place, wanted)
        return self.dashboard.see(entry_href(*place), notice="memory-restored")

    async def ask_to_delete(
        self, exchange: Exchange, query: EntryPageQuery | None = None, form: Form = NO_FORM
    ) -> Response:
        asked = query or EntryPageQuery(form["namespace"], form["key"])
        back = entry_href(asked.namespace, asked.key) if asked.key else namespace_href(asked.namespace)
        return self._page(
            exchange, "delete.html", form=form, asked=asked, back=back if asked.namespace else HERE
        )

    async def delete(self, exchange: Exchange, form: Form) -> Response:
        if form["key"]:
            await self.entries.delete_entry(exchange, form["namespace"], form["key"])
            return self.dashboard.see(namespace_href(form["namespace"]), notice="memory-deleted")
        if form["namespace"]:
            await self.memory.delete_namespace(exchange, form["namespace"])
        else:
            await self.memory.delete_everything(exchange)
        return self.dashboard.see(HERE, notice="memory-deleted")

    async def download(self, exchange: Exchange) -> Response:
        return await self.memory.export_memory(exchange, ExportQuery())

    def _page(self, exchange: Exchange, template: str, *, form: Form, **context: Any) -> Response:
        return self.dashboard.render(
            exchange,
            f"memory/{template}",
            here="memory",
            form=form,
            namespace_href=namespace_href,
            entry_href=entry_href,
            delete_href=_delete_href,
            **context,
        )

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        return [
            page(HERE, self.show, "Memory"),
            page(NAMESPACE, self.show_namespace, "A namespace of memory"),
            page(ENTRY, self.show_entry, "An entry of memory"),
            form(f"{ENTRY}/restore", self.restore, "Restore a version", show=self.show_entry),
            page(DELETE, self.ask_to_delete, "Ask before memory is deleted"),
            form(DELETE, self.delete, "Delete memory", show=self.ask_to_delete),
            page(f"{HERE}/export.ndjson", self.download, "All of memory", deadline=600.0),
        ]


def namespace_href(namespace: str) -> str:
    return f"{NAMESPACE}?{urlencode({'namespace': namespace})}"


def entry_href(namespace: str, key: str, version: int | None = None) -> str:
    asked = {"namespace": namespace, "key": key, **({} if version is None else {"version": str(version)})}
    return f"{ENTRY}?{urlencode(asked)}"


def _delete_href(namespace: str = "", key: str = "") -> str:
    asked = {name: text for name, text in (("namespace", namespace), ("key", key)) if text}
    return f"{DELETE}?{urlencode(asked)}" if asked else DELETE


def _shown(raw: Any, *, is_text: bool) -> dict[str, Any]:
    """The value as a page shows it: text as it is, JSON on many lines."""
    value = msgspec.json.decode(raw)
    text = value if is_text else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return {"text": text[:MAX_SHOWN_CHARS], "is_cut": len(text) > MAX_SHOWN_CHARS}
