"""Calls about monitors. Their answers are imported when one is made: they bring the rules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from gossamer.client.client import Client
    from gossamer.web.monitors.monitor_answer import (
        ChangeLine,
        CheckLine,
        MonitorAccepted,
        MonitorLine,
        ShownChange,
        ShownMonitor,
        TrialAnswer,
    )

_HERE: Final = "/api/monitors"
_PAGE: Final = 100


async def add(client: "Client", body: Mapping[str, Any]) -> "ShownMonitor":
    from gossamer.web.monitors.monitor_answer import ShownMonitor

    return await client.ask("POST", _HERE, ShownMonitor, body)


async def ask_one(
    client: "Client", method: str, monitor_id: str, what: str = "", body: Any = None
) -> "ShownMonitor":
    from gossamer.web.monitors.monitor_answer import ShownMonitor

    return await client.ask(method, f"{_path(monitor_id)}{what}", ShownMonitor, body)


async def check(client: "Client", monitor_id: str) -> "MonitorAccepted":
    from gossamer.web.monitors.monitor_answer import MonitorAccepted

    return await client.ask("POST", f"{_path(monitor_id)}/check", MonitorAccepted)


async def list_all(client: "Client", limit: int) -> "list[MonitorLine]":
    from gossamer.web.monitors.monitor_answer import MonitorLine, MonitorList

    found: list[MonitorLine] = []
    query: dict[str, str] = {}
    while len(found) < limit:
        query["limit"] = str(min(limit - len(found), _PAGE))
        page = await client.ask("GET", f"{_HERE}?{urlencode(query)}", MonitorList)
        found += page.monitors
        if page.next_cursor is None:
            break
        query["cursor"] = page.next_cursor
    return found


async def list_changes(client: "Client", monitor_id: str, limit: int) -> "list[ChangeLine]":
    from gossamer.web.monitors.monitor_answer import ChangeLine, ChangeList

    found: list[ChangeLine] = []
    query: dict[str, str] = {}
    while len(found) < limit:
        query["limit"] = str(min(limit - len(found), _PAGE))
        page = await client.ask("GET", f"{_path(monitor_id)}/changes?{urlencode(query)}", ChangeList)
        found += page.changes
        if page.next_cursor is None:
            break
        query["cursor"] = page.next_cursor
    return found


async def list_checks(client: "Client", monitor_id: str, limit: int) -> "list[CheckLine]":
    from gossamer.web.monitors.monitor_answer import CheckList

    query = urlencode({"limit": min(limit, _PAGE)})
    return (await client.ask("GET", f"{_path(monitor_id)}/checks?{query}", CheckList)).checks


async def get_change(client: "Client", monitor_id: str, change_id: str, form: str) -> "ShownChange":
    from gossamer.web.monitors.monitor_answer import ShownChange

    path = f"{_path(monitor_id)}/changes/{quote(change_id, safe='')}?format={quote(form)}"
    return await client.ask("GET", path, ShownChange)


async def try_rules(client: "Client", body: Mapping[str, Any]) -> "TrialAnswer":
    from gossamer.web.monitors.monitor_answer import TrialAnswer

    return await client.ask("POST", f"{_HERE}/try", TrialAnswer, body)


def _path(monitor_id: str) -> str:
    return f"{_HERE}/{quote(monitor_id, safe='')}"
