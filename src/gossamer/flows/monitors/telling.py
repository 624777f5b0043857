"""Telling: what a check has to tell whoever listens, as events in its transaction."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.monitors.changes import StoredChange
from gossamer.state.monitors.monitors import StoredMonitor
from gossamer.state.webhooks.publishing import WebhookEvent, publish
from gossamer.web.monitors.monitor_spec import address_of
from gossamer.web.monitors.rules.change_reason import ChangeReason
from gossamer.web.webhooks.event_type import EventType

MAX_TOLD: Final = 20  # changes or troubles in one event


class UnreadPage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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


class MonitorNews(Struct, frozen=True):
    changes: Sequence[StoredChange] = ()
    failing: Sequence[UnreadPage] = ()  # not empty: it is failing from now on
    recovered: bool = False


async def tell(connection: AsyncConnection, monitor: StoredMonitor, news: MonitorNews) -> None:
    """In the transaction that ends the check, so that each is told once."""
    events = []
    if news.changes:
        told = [
            ToldChange(change_id=change.id, url=change.url, reasons=change.verdict.reasons)
            for change in news.changes[:MAX_TOLD]
        ]
        more = len(news.changes) - len(told)
        events.append(_event(monitor, EventType.MONITOR_CHANGED, changes=told, more=more))
    if news.failing:
        troubles = list(news.failing[:MAX_TOLD])
        events.append(_event(monitor, EventType.MONITOR_FAILED, troubles=troubles))
    if news.recovered:
        events.append(_event(monitor, EventType.MONITOR_RECOVERED))
    if events:
        await publish(connection, *events)


def _event(monitor: StoredMonitor, type: EventType, **data: Any) -> WebhookEvent:  # noqa: A002
    about = {
        "monitorId": monitor.id,
        "name": monitor.name,
        "watched": address_of(monitor.spec.watch),
        "monitorUrl": f"/api/monitors/{monitor.id}",
    }
    return WebhookEvent(
        type=type,
        tenant_id=monitor.tenant_id,
        owner=monitor.owner if monitor.owner != monitor.tenant_id else "",
        subject=monitor.id,
        data={**about, **data},
    )
