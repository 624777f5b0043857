"""What schedules tell whoever listens: events in the transaction that notes the run or stops the schedule."""

import msgspec
from msgspec import UNSET, UnsetType

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.state.schedules.schedules import Schedule
from gossamer.state.webhooks.publishing import WebhookEvent, publish
from gossamer.web.pages.timestamps import iso
from gossamer.web.schedules.schedule_words import PauseReason, ScheduleKind
from gossamer.web.webhooks.event_type import EventType


class ScheduleNews(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A schedule as an event tells it."""

    schedule_id: str
    name: str
    kind: ScheduleKind
    schedule_url: str
    reason: str  # the code of the problem, or why it was stopped
    subject: str | UnsetType = UNSET  # the id of what it belongs to, such as a monitor
    detail: str | UnsetType = UNSET
    planned_at: str | UnsetType = UNSET
    failures: int | UnsetType = UNSET  # in a row


async def tell_failed(connection: AsyncConnection, schedule: Schedule, run: ScheduleRun) -> None:
    """`schedule` is as it was before the run."""
    planned = UNSET if run.planned_at is None else iso(run.planned_at / 1000)
    news = msgspec.structs.replace(
        _news(schedule, run.reason), detail=run.detail, planned_at=planned, failures=schedule.failures + 1
    )
    await _tell(connection, EventType.SCHEDULE_FAILED, schedule, news)


async def tell_stopped(connection: AsyncConnection, schedule: Schedule, reason: PauseReason) -> None:
    await _tell(connection, EventType.SCHEDULE_STOPPED, schedule, _news(schedule, reason.value))


def _news(schedule: Schedule, reason: str) -> ScheduleNews:
    return ScheduleNews(
        schedule_id=schedule.id,
        name=schedule.name,
        kind=schedule.kind,
        schedule_url=f"/api/schedules/{schedule.id}",
        reason=reason,
        subject=schedule.subject or UNSET,
    )


async def _tell(
    connection: AsyncConnection, type_: EventType, schedule: Schedule, news: ScheduleNews
) -> None:
    event = WebhookEvent(
        type=type_,
        tenant_id=schedule.tenant_id,
        owner=schedule.owner if schedule.owner != schedule.tenant_id else "",
        subject=schedule.id,
        data=news,
    )
    await publish(connection, event)
