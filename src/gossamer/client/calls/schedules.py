"""The calls about schedules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Unpack

from gossamer.client.calls.api_calls import ApiCalls, path_below
from gossamer.client.options import ScheduleKeywords

if TYPE_CHECKING:
    from gossamer.web.schedules.schedule_answer import NextRun, ScheduleLine, ShownRun, ShownSchedule

_HERE: Final = "/api/schedules"


class ScheduleCalls(ApiCalls):
    async def add_schedule(
        self, task: Mapping[str, Any], timing: Mapping[str, Any], *, name: str = "", paused: bool = False
    ) -> "ShownSchedule":
        """Start a crawl, batch or audit again and again: `task` is the body of its endpoint with `kind`, and
        `timing` has `cron` or `every`."""
        body = {"task": task, "timing": timing, "name": name, "paused": paused}
        return await self._ask_schedule("POST", _HERE, body)

    async def schedules(self, *, kind: str | None = None, limit: int = 50) -> "list[ScheduleLine]":
        """Schedules, the newest first."""
        from gossamer.web.schedules.schedule_answer import ScheduleList

        query = {} if kind is None else {"kind": kind}
        return await self.list_rows(_HERE, ScheduleList, lambda page: page.schedules, limit, query)

    async def schedule(self, id: str) -> "ShownSchedule":  # noqa: A002
        """A schedule, with its next runs."""
        return await self._ask_schedule("GET", path_below(_HERE, id))

    async def change_schedule(self, id: str, **changes: Unpack[ScheduleKeywords]) -> "ShownSchedule":  # noqa: A002
        """Change its `task`, `timing` or `name`; the rest stays."""
        return await self._ask_schedule("PATCH", path_below(_HERE, id), changes)

    async def pause_schedule(self, id: str) -> "ShownSchedule":  # noqa: A002
        return await self._ask_schedule("POST", path_below(_HERE, id, "pause"))

    async def resume_schedule(self, id: str) -> "ShownSchedule":  # noqa: A002
        return await self._ask_schedule("POST", path_below(_HERE, id, "resume"))

    async def run_schedule(self, id: str) -> "ShownRun":  # noqa: A002
        """Start it now; its next runs stay as they are planned."""
        from gossamer.web.schedules.schedule_answer import ShownRun

        return await self.ask("POST", path_below(_HERE, id, "run"), ShownRun)

    async def schedule_runs(self, id: str, *, limit: int = 50) -> "list[ShownRun]":  # noqa: A002
        """What became of its runs, the newest first."""
        from gossamer.web.schedules.schedule_answer import ScheduleRunList

        where = path_below(_HERE, id, "runs")
        return await self.list_rows(where, ScheduleRunList, lambda page: page.runs, limit)

    async def remove_schedule(self, id: str) -> "ShownSchedule":  # noqa: A002
        """Delete it with its history. What it has started stays."""
        return await self._ask_schedule("DELETE", path_below(_HERE, id))

    async def preview_timing(self, timing: Mapping[str, Any], *, count: int = 10) -> "list[NextRun]":
        """When a schedule with this timing would run."""
        from gossamer.web.schedules.schedule_answer import TimingPreview

        body = {"timing": timing, "count": count}
        return (await self.ask("POST", f"{_HERE}/preview", TimingPreview, body)).next_runs

    async def _ask_schedule(self, method: str, path: str, body: Any = None) -> "ShownSchedule":
        from gossamer.web.schedules.schedule_answer import ShownSchedule

        return await self.ask(method, path, ShownSchedule, body)
