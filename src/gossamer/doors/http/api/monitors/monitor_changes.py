"""What monitors have found, over HTTP: changes with their differences, checks and snapshots."""

import asyncio
from typing import Any, Final

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.monitors import monitor_shapes as shapes
from gossamer.doors.http.api.monitors.monitor_shapes import DiffQuery, MonitorQuery
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.monitors.monitors import Monitors
from gossamer.state.tenants.tenants import Role
from gossamer.web.monitors.diff.changed_parts import changed_parts
from gossamer.web.monitors.monitor_answer import (
    Acknowledged,
    ChangedPart,
    ChangeList,
    CheckList,
    ShownChange,
    ShownSnapshot,
    SnapshotList,
)
from gossamer.web.monitors.page_snapshot import PageSnapshot
from gossamer.web.monitors.rules.comparing import SnapshotComparison

_PICTURE: Final = {
    "Content-Type": "image/png",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, max-age=3600",  # a picture never changes
}


class MonitorChangesEndpoints(Struct, frozen=True):
    monitors: Monitors

    async def list_changes(self, exchange: Exchange, id: str, query: MonitorQuery) -> ChangeList:
        found = await self.monitors.list_changes(
            exchange.caller, id, before=query.cursor, limit=query.limit + 1
        )
        page = found[: query.limit]
        more = page[-1].id if len(found) > query.limit else None
        return ChangeList([shapes.to_change_line(change) for change in page], more)

    async def get_change(self, exchange: Exchange, id: str, change: str, query: DiffQuery) -> ShownChange:
        monitor, found, before, after = await self.monitors.get_change(exchange.caller, id, change)
        parts: tuple[ChangedPart, ...] = ()
        if before is not None or after is not None:
            comparison = SnapshotComparison(
                before.snapshot if before else _nothing(after.snapshot if after else None),
                after.snapshot if after else _nothing(before.snapshot if before else None),
                monitor.spec.noise,
            )
            parts = await asyncio.to_thread(changed_parts, comparison, monitor.spec.rules, query.format)
        return shapes.to_change(found, before, after, parts)

    async def acknowledge_change(self, exchange: Exchange, id: str, change: str) -> Acknowledged:
        await self.monitors.get_change(exchange.caller, id, change)
        return Acknowledged(await self.monitors.acknowledge(exchange.caller, id, change))

    async def acknowledge_all(self, exchange: Exchange, id: str) -> Acknowledged:
        return Acknowledged(await self.monitors.acknowledge(exchange.caller, id, None))

    async def list_checks(self, exchange: Exchange, id: str, query: MonitorQuery) -> CheckList:
        found = await self.monitors.list_checks(
            exchange.caller, id, before=query.cursor, limit=query.limit + 1
        )
        page = found[: query.limit]
        more = page[-1].id if len(found) > query.limit else None
        return CheckList([shapes.to_check(check) for check in page], more)

    async def list_snapshots(self, exchange: Exchange, id: str, query: MonitorQuery) -> SnapshotList:
        found = await self.monitors.list_snapshots(
            exchange.caller, id, before=query.cursor, limit=query.limit + 1
        )
        page = found[: query.limit]
        more = page[-1].id if len(found) > query.limit else None
        return SnapshotList([shapes.to_snapshot_line(one) for one in page], more)

    async def get_snapshot(self, exchange: Exchange, id: str, snapshot: str) -> ShownSnapshot:
        return shapes.to_snapshot(await self.monitors.get_snapshot(exchange.caller, id, snapshot))

    async def get_picture(self, exchange: Exchange, id: str, snapshot: str) -> Response:
        body = await self.monitors.get_picture(exchange.caller, id, snapshot)
        return Response(body, headers=_PICTURE)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {
            "needs": Role.USER,
            "tag": "Monitors",
            "problems": (problems.NOT_FOUND,),
        }
        monitor = {"id": "The monitor's id."}
        change = {**monitor, "change": "The change's id."}
        snapshot = {**monitor, "snapshot": "The snapshot's id."}
        here = "/api/monitors/{id}"
        return [
            Route(
                method="GET",
                path=f"{here}/changes",
                handler=self.list_changes,
                summary="List the changes that a monitor has found, newest first",
                parameters=monitor,
                example=ChangeList([shapes.EXAMPLE_CHANGE_LINE], None),
                **common,
            ),
            Route(
                method="GET",
                path=f"{here}/changes/{{change}}",
                handler=self.get_change,
                summary="Show a change: why it fired, what was ignored, and the difference",
                parameters=change,
                example=shapes.EXAMPLE_CHANGE,
                **common,
            ),
            Route(
                method="POST",
                path=f"{here}/changes/{{change}}/acknowledge",
                handler=self.acknowledge_change,
                control=True,
                summary="Acknowledge a change",
                parameters=change,
                example=Acknowledged(1),
                **common,
            ),
            Route(
                method="POST",
                path=f"{here}/acknowledge",
                handler=self.acknowledge_all,
                control=True,
                summary="Acknowledge all changes of a monitor",
                parameters=monitor,
                example=Acknowledged(3),
                **common,
            ),
            Route(
                method="GET",
                path=f"{here}/checks",
                handler=self.list_checks,
                summary="List the last checks of a monitor: why it fired, and why not",
                parameters=monitor,
                example=CheckList([shapes.EXAMPLE_CHECK], None),
                **common,
            ),
            Route(
                method="GET",
                path=f"{here}/snapshots",
                handler=self.list_snapshots,
                summary="List the snapshots that are kept",
                parameters=monitor,
                example=SnapshotList([shapes.EXAMPLE_SNAPSHOT_LINE], None),
                **common,
            ),
            Route(
                method="GET",
                path=f"{here}/snapshots/{{snapshot}}",
                handler=self.get_snapshot,
                summary="Show what a look has found",
                parameters=snapshot,
                example=shapes.EXAMPLE_SNAPSHOT,
                **common,
            ),
            Route(
                method="GET",
                path=f"{here}/snapshots/{{snapshot}}/picture",
                handler=self.get_picture,
                summary="Get the screenshot of a snapshot",
                parameters=snapshot,
                media_type="image/png",
                **common,
            ),
        ]


def _nothing(other: PageSnapshot | None) -> PageSnapshot:
    """A page that is not there."""
    return PageSnapshot(url=other.url if other else "", taken_at=other.taken_at if other else 0.0)
