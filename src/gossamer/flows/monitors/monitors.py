"""Monitors: made, changed, checked and removed for callers. Each owns a schedule of its own."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from gossamer import problems
from gossamer.flows.data.removal.leftovers import drop_orphans
from gossamer.flows.monitors.appearance import demand_pictures
from gossamer.flows.monitors.look_sources import LookSources
from gossamer.flows.monitors.monitor_check import KIND, MonitorPayload
from gossamer.flows.render.render_capacity import RenderCapacity
from gossamer.flows.schedules.makers import find_maker, maker_of
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.flows.webhooks.webhook_keys import WebhookKeys, owner_of
from gossamer.problems import Problem
from gossamer.reach.net.dial import Dialer
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.monitors import changes, monitors, snapshots
from gossamer.state.monitors.changes import StoredChange, StoredCheck
from gossamer.state.monitors.monitors import NewStoredMonitor, StoredMonitor
from gossamer.state.monitors.snapshots import ListedSnapshot, SnapshotStore, StoredSnapshot
from gossamer.state.schedules import schedules
from gossamer.state.schedules.schedules import NewSchedule, Schedule
from gossamer.state.tenants import activity, tenant_data
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role
from gossamer.web.monitors.monitor_request import MonitorChange, NewMonitor
from gossamer.web.monitors.monitor_spec import MonitoredList, MonitoredPage, MonitorSpec, address_of
from gossamer.web.schedules.schedule_words import PauseReason, ScheduleKind
from gossamer.web.schedules.timetable import Timetable
from gossamer.web.schedules.timing import Timing
from gossamer.web.url.url import Url

MAX_ATTEMPTS: Final = 3

RememberMonitor = Callable[[AsyncConnection, "KeptMonitor"], Awaitable[None]]


class KeptMonitor(Struct, frozen=True):
    """A monitor with its schedule."""

    monitor: StoredMonitor
    schedule: Schedule | None
    time: int  # the database's


class Monitors(Struct, frozen=True):
    jobs: Jobs
    sources: LookSources
    store: SnapshotStore
    quotas: Quotas
    keys: WebhookKeys
    dialer: Dialer
    capacity: RenderCapacity
    least_seconds: int  # between two checks

    async def create(
        self, caller: Caller, body: NewMonitor, by: Actor, remember: RememberMonitor
    ) -> KeptMonitor:
        """Raises `Problem` for what this caller could not watch now."""
        spec = body.spec()
        await self.check(spec, caller)
        self._check_timing(body.timing)
        await self.quotas.check(caller, Quota.JOBS)
        owner = owner_of(caller)
        new = NewStoredMonitor(
            tenant_id=caller.tenant_id,
            owner=owner,
            name=body.name,
            spec=spec.without_secrets(),
            headers_sealed=await self.keys.seal(owner, spec.look.headers),
        )
        async with self.jobs.database.write() as connection:
            await self.quotas.reserve_monitor(connection, caller)
            monitor = await monitors.add(connection, new)
            await schedules.add(
                connection,
                NewSchedule(
                    tenant_id=caller.tenant_id,
                    owner=owner,
                    kind=ScheduleKind.MONITOR,
                    timing=body.timing,
                    maker=maker_of(caller),
                    name=body.name,
                    subject=monitor.id,
                    is_paused=body.paused,
                ),
            )
            await self.queue(connection, monitor, caller, by)
            await _record(connection, monitor, Action.MONITOR_MADE, by, address_of(spec.watch))
            kept = await self._with_schedule(connection, await self._seen(connection, caller, monitor.id))
            await remember(connection, kept)
        self.jobs.wake(KIND)
        return kept

    async def check(self, spec: MonitorSpec, caller: Caller) -> None:
        """Raises `Problem` for what this caller cannot watch."""
        await self.sources.check(spec, caller)
        if isinstance(spec.watch, MonitoredPage | MonitoredList):
            for text in spec.watch.urls:
                url = Url.parse(text)
                self.dialer.admit(url.host, url.port)
        if spec.appearance is not None:
            demand_pictures()
        if spec.look.render == "always":
            await self.capacity.demand()

    async def get(self, caller: Caller, monitor_id: str) -> KeptMonitor:
        async with self.jobs.database.read() as connection:
            monitor = await self._seen(connection, caller, monitor_id)
            return await self._with_schedule(connection, monitor)

    async def list_monitors(self, caller: Caller, *, before: str | None, limit: int) -> list[KeptMonitor]:
        owner = None if caller.role is Role.ADMIN else owner_of(caller)
        async with self.jobs.database.read() as connection:
            found = await monitors.listing(connection, owner=owner, before=before, limit=limit)
            return [await self._with_schedule(connection, monitor) for monitor in found]

    async def change(self, caller: Caller, monitor_id: str, change: MonitorChange, by: Actor) -> KeptMonitor:
        """Another spec begins with a first look: what was seen by the old one cannot be compared."""
        known = (await self.get(caller, monitor_id)).monitor
        headers = await self.keys.open(known.owner, known.headers_sealed)
        before = known.spec.with_headers(headers)
        spec = change.applied(before)
        if spec != before:
            _refuse_stranger(caller, known)
            await self.check(spec, caller)
        if change.timing:
            self._check_timing(change.timing)
        is_resealed = spec.look.headers != headers
        sealed = await self.keys.seal(known.owner, spec.look.headers) if is_resealed else known.headers_sealed
        async with self.jobs.database.write() as connection:
            monitor = await self._locked(connection, caller, monitor_id)
            name = change.name if isinstance(change.name, str) else monitor.name
            is_other = await monitors.change(
                connection, monitor, name=name, spec=spec.without_secrets(), headers_sealed=sealed
            )
            if is_other:
                await snapshots.retire_all(connection, monitor_id)
            if isinstance(change.muted, bool):
                await monitors.quieten(
                    connection, monitor_id, muted=change.muted, snoozed_until=monitor.snoozed_until
                )
            await self._reschedule(connection, caller, monitor, change, is_other=is_other)
            if is_other:
                await self.queue(connection, monitor, caller, by)
            await _record(connection, monitor, Action.MONITOR_CHANGED, by, change.told)
        self.jobs.wake(KIND)
        return await self.get(caller, monitor_id)

    async def snooze(self, caller: Caller, monitor_id: str, seconds: int, by: Actor) -> KeptMonitor:
        """Tell nothing for this long; 0 ends it."""
        async with self.jobs.database.write() as connection:
            monitor = await self._locked(connection, caller, monitor_id)
            now = await monitors.read_clock(connection)
            until = now + seconds * 1000 if seconds else None
            await monitors.quieten(connection, monitor_id, muted=monitor.muted, snoozed_until=until)
            await _record(connection, monitor, Action.MONITOR_SNOOZED, by, f"{seconds} s")
        return await self.get(caller, monitor_id)

    async def remove(self, caller: Caller, monitor_id: str, by: Actor) -> None:
        """With its schedule, its history and its pages. A check that is running ends."""
        orphans: list[str] = []
        async with self.jobs.database.write() as connection:
            monitor = await self._locked(connection, caller, monitor_id)
            if monitor.job_id:
                await tenant_data.drop_job(connection, [monitor.job_id])
            await schedules.remove_of_subject(connection, ScheduleKind.MONITOR, monitor_id)
            await changes.drop_all(connection, monitor_id)
            while True:
                number, blobs = await snapshots.drop_some(connection, monitor_id=monitor_id)
                orphans += blobs
                if not number:
                    break
            await monitors.remove(connection, monitor_id)
            await _record(connection, monitor, Action.MONITOR_DELETED, by, monitor.name)
        await drop_orphans(self.jobs.database, self.store.blobs, orphans)

    async def check_now(self, caller: Caller, monitor_id: str, by: Actor) -> Job:
        """The job; that of a check which is queued or running, if there is one."""
        await self.quotas.check(caller, Quota.JOBS)
        async with self.jobs.database.write() as connection:
            monitor = await self._locked(connection, caller, monitor_id)
            _refuse_stranger(caller, monitor)
            job = await self.queue(connection, monitor, caller, by)
        self.jobs.wake(KIND)
        return job

    async def queue(
        self, connection: AsyncConnection, monitor: StoredMonitor, caller: Caller, by: Actor
    ) -> Job:
        """One check of a monitor at a time."""
        new = NewJob(
            kind=KIND,
            tenant_id=monitor.tenant_id,
            payload=MonitorPayload(monitor.id, caller.key_id, caller.tier.value, caller.role.value),
            idempotency_key=hashlib.sha256(f"monitor|{monitor.id}".encode()).hexdigest(),
            max_attempts=MAX_ATTEMPTS,
            request_id=by.request_id,
        )
        job = await job_table.put(connection, new)
        await monitors.set_job(connection, monitor.id, job.job_id)
        return job

    # What was found.

    async def list_changes(
        self, caller: Caller, monitor_id: str, *, before: str | None, limit: int
    ) -> list[StoredChange]:
        async with self.jobs.database.read() as connection:
            await self._seen(connection, caller, monitor_id)
            return await changes.listing(connection, monitor_id, before=before, limit=limit)

    async def list_checks(
        self, caller: Caller, monitor_id: str, *, before: str | None, limit: int
    ) -> list[StoredCheck]:
        async with self.jobs.database.read() as connection:
            await self._seen(connection, caller, monitor_id)
            return await changes.list_checks(connection, monitor_id, before=before, limit=limit)

    async def list_snapshots(
        self, caller: Caller, monitor_id: str, *, before: str | None, limit: int
    ) -> list[ListedSnapshot]:
        async with self.jobs.database.read() as connection:
            await self._seen(connection, caller, monitor_id)
            return await snapshots.listing(connection, monitor_id, before=before, limit=limit)

    async def get_change(
        self, caller: Caller, monitor_id: str, change_id: str
    ) -> tuple[StoredMonitor, StoredChange, StoredSnapshot | None, StoredSnapshot | None]:
        """With the page before and after it, as far as there is one."""
        async with self.jobs.database.read() as connection:
            monitor = await self._seen(connection, caller, monitor_id)
            change = await changes.get(connection, monitor_id, change_id)
        if change is None:
            raise Problem(problems.NOT_FOUND, "There is no change with this id.")
        before, after = [
            await self.store.get(monitor_id, one) if one else None
            for one in (change.before_id, change.after_id)
        ]
        return monitor, change, before, after

    async def get_snapshot(self, caller: Caller, monitor_id: str, snapshot_id: str) -> StoredSnapshot:
        async with self.jobs.database.read() as connection:
            await self._seen(connection, caller, monitor_id)
        found = await self.store.get(monitor_id, snapshot_id)
        if found is None:
            raise Problem(problems.NOT_FOUND, "There is no snapshot with this id.")
        return found

    async def get_picture(self, caller: Caller, monitor_id: str, snapshot_id: str) -> bytes:
        name = (await self.get_snapshot(caller, monitor_id, snapshot_id)).snapshot.picture
        body = await self.store.picture(name) if name else None
        if body is None:
            raise Problem(problems.NOT_FOUND, "This snapshot has no picture.")
        return body

    async def acknowledge(self, caller: Caller, monitor_id: str, change_id: str | None) -> int:
        async with self.jobs.database.write() as connection:
            await self._seen(connection, caller, monitor_id)
            return await changes.acknowledge(connection, monitor_id, change_id)

    # Its schedule.

    async def _reschedule(
        self,
        connection: AsyncConnection,
        caller: Caller,
        monitor: StoredMonitor,
        change: MonitorChange,
        *,
        is_other: bool,
    ) -> None:
        schedule = await schedules.of_subject(connection, ScheduleKind.MONITOR, monitor.id)
        if schedule is None:
            return
        if change.timing:
            await schedules.retime(connection, schedule, change.timing)
        if isinstance(change.name, str):
            await schedules.rename(connection, schedule.id, change.name)
        if is_other:  # whoever says what is watched lends the rights for it
            await schedules.hand_over(connection, schedule.id, maker_of(caller))
        if change.paused is True:
            await schedules.pause(connection, schedule.id)
        elif change.paused is False:
            if isinstance(await find_maker(connection, schedule), PauseReason):
                _refuse_stranger(caller, monitor)
                await schedules.hand_over(connection, schedule.id, maker_of(caller))
            again = await schedules.lock(connection, schedule.id)
            await schedules.resume(connection, again or schedule)

    def _check_timing(self, timing: Timing) -> None:
        timing.check()
        Timetable(timing, "", 0).check(self.least_seconds)

    async def _with_schedule(self, connection: AsyncConnection, monitor: StoredMonitor) -> KeptMonitor:
        schedule = await schedules.of_subject(connection, ScheduleKind.MONITOR, monitor.id)
        return KeptMonitor(monitor, schedule, await monitors.read_clock(connection))

    async def _seen(self, connection: AsyncConnection, caller: Caller, monitor_id: str) -> StoredMonitor:
        return _visible(caller, await monitors.get(connection, monitor_id))

    async def _locked(self, connection: AsyncConnection, caller: Caller, monitor_id: str) -> StoredMonitor:
        return _visible(caller, await monitors.lock(connection, monitor_id))


def _visible(caller: Caller, monitor: StoredMonitor | None) -> StoredMonitor:
    """The monitor, if the caller may see it."""
    if monitor is None or (caller.role is not Role.ADMIN and monitor.owner != owner_of(caller)):
        raise Problem(problems.NOT_FOUND, "There is no monitor with this id.")
    return monitor


def _refuse_stranger(caller: Caller, monitor: StoredMonitor) -> None:
    """A monitor works for its tenant, so it cannot have the rights of another's key."""
    if caller.tenant_id != monitor.tenant_id:
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            "This monitor is another tenant's; it would get the rights of your key.",
            hint="Use a key of that tenant.",
        )


async def _record(
    connection: AsyncConnection, monitor: StoredMonitor, action: Action, by: Actor, detail: str = ""
) -> None:
    await activity.record(connection, ActivityEntry(monitor.tenant_id, action, monitor.id, by, detail))
