"""Calls about schedules. Their answers are imported when one is made: they bring time zones."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from gossamer.client.client import Client
    from gossamer.web.schedules.schedule_answer import NextRun, ScheduleLine, ShownRun, ShownSchedule

_HERE: Final = "/api/schedules"
_PAGE: Final = 100


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
    from gossamer.web.schedules.schedule_answer import ScheduleLine, ScheduleList

    found: list[ScheduleLine] = []
    query = {} if kind is None else {"kind": kind}
    while len(found) < limit:
        query["limit"] = str(min(limit - len(found), _PAGE))
        page = await client.ask("GET", f"{_HERE}?{urlencode(query)}", ScheduleList)
        found += page.schedules
        if page.next_cursor is None:
            break
        query["cursor"] = page.next_cursor
    return found


async def list_runs(client: "Client", schedule_id: str, limit: int) -> "list[ShownRun]":
    from gossamer.web.schedules.schedule_answer import ScheduleRunList, ShownRun

    found: list[ShownRun] = []
    query: dict[str, str] = {}
    while len(found) < limit:
        query["limit"] = str(min(limit - len(found), _PAGE))
        page = await client.ask("GET", f"{_path(schedule_id)}/runs?{urlencode(query)}", ScheduleRunList)
        found += page.runs
        if page.next_cursor is None:
            break
        query["cursor"] = page.next_cursor
    return found


async def preview(client: "Client", body: Mapping[str, Any]) -> "list[NextRun]":
    from gossamer.web.schedules.schedule_answer import TimingPreview

    return (await client.ask("POST", f"{_HERE}/preview", TimingPreview, body)).next_runs


def _path(schedule_id: str) -> str:
    return f"{_HERE}/{quote(schedule_id, safe='')}"
