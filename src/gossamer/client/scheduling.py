"""Calls about schedules. Their answers are imported when one is made: they bring time zones."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from gossamer.client.client import Client
    from gossamer.web.schedules.schedule_answer import NextRun, ScheduleLine, ShownRun, ShownSchedule

_HERE: Final = "/api/schedules"


class ListPage(Protocol):
    """A page of a list."""

    @property
    def next_cursor(self) -> str | None: ...


P = TypeVar("P", bound=ListPage)
T = TypeVar("T")


class Asking(Protocol):
    """The part of a client that asks."""

    async def ask(self, method: str, path: str, answers: type[T], body: Any = None) -> T: ...


async def add(client: "Client", body: Mapping[str, Any]) -> "ShownSchedule":
    from gossamer.web.schedules.schedule_answer import ShownSchedule

    return await client.ask("POST", _HERE, ShownSchedule, body)


async def ask_one(
    client: "Client", method: str, schedule_id: str, what: str = "", body: Any = None
) -> "ShownSchedule":
    from gossamer.web.schedules.schedule_answer import ShownSchedule

    return await client.ask(method, f"{_path(schedule_id)}{what}", ShownSchedule, body)


async def run(client: "Client", schedule_id: str) -> "ShownRun":
    from gossamer.web.schedules.schedule_answer import ShownRun

    return await client.ask("POST", f"{_path(schedule_id)}/run", ShownRun)


async def list_all(client: "Client", kind: str | None, limit: int) -> "list[ScheduleLine]":
    from gossamer.web.schedules.schedule_answer import ScheduleList

    query = {} if kind is None else {"kind": kind}
    pages = _pages(client, _HERE, ScheduleList, query)
    return await _first(limit, pages, lambda page: page.schedules)


async def list_runs(client: "Client", schedule_id: str, limit: int) -> "list[ShownRun]":
    from gossamer.web.schedules.schedule_answer import ScheduleRunList

    pages = _pages(client, f"{_path(schedule_id)}/runs", ScheduleRunList, {})
    return await _first(limit, pages, lambda page: page.runs)


async def _pages(client: Asking, path: str, shape: type[P], query: dict[str, str]) -> AsyncGenerator[P]:
    """The pages of a list, one after the other."""
    while True:
        page = await client.ask("GET", f"{path}?{urlencode(query)}", shape)
        yield page
        if page.next_cursor is None:
            return
        query["cursor"] = page.next_cursor


async def list_pages(
    client: Asking,
    path: str,
    shape: type[P],
    query: dict[str, str],
    limit: int,
    rows: Callable[[P], list[T]],
) -> list[T]:
    """The first rows of a list."""
    return await _first(limit, _pages(client, path, shape, query), rows)


async def _first(limit: int, pages: AsyncGenerator[P], rows: Callable[[P], list[T]]) -> list[T]:
    found: list[T] = []
    async with aclosing(pages):
        async for page in pages:
            found += rows(page)
            if len(found) >= limit:
                break
    return found[:limit]


async def preview(client: "Client", body: Mapping[str, Any]) -> "list[NextRun]":
    from gossamer.web.schedules.schedule_answer import TimingPreview

    return (await client.ask("POST", f"{_HERE}/preview", TimingPreview, body)).next_runs


def _path(schedule_id: str) -> str:
    return f"{_HERE}/{quote(schedule_id, safe='')}"
