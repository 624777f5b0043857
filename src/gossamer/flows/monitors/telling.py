"""Telling: what a check has to tell whoever listens, as events in its transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.monitors.changes import StoredChange
from gossamer.state.monitors.monitors import StoredMonitor
from gossamer.web.monitors.monitor_spec import address_of
from gossamer.web.monitors.rules.change_reason import ChangeReason


class PageTrouble(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page that could not be read, and why."""

    url: str
    problem: str  # the code of a problem, or the outcome: `blocked`, `login_wall`, …
    reason: str = ""
    status: int | None = None


class ToldChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change as an event tells it."""

    change_id: str
    url: str
    reasons: tuple[ChangeReason, ...]


@dataclass(frozen=True, slots=True)
class MonitorNews:
    changes: Sequence[StoredChange] = ()
    failing: Sequence[PageTrouble] = ()  # not empty: it is failing from now on
    recovered: bool = False


async def tell(connection: AsyncConnection, monitor: StoredMonitor, news: MonitorNews) -> None:
    """Nobody listens yet."""
    _ = (connection, _about(monitor), news)


def _about(monitor: StoredMonitor) -> dict[str, Any]:
    return {
        "monitorId": monitor.id,
        "name": monitor.name,
        "watched": address_of(monitor.spec.watch),
        "monitorUrl": f"/api/monitors/{monitor.id}",
    }
