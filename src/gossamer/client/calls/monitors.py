"""The calls about monitors."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack
from urllib.parse import urlencode

from gossamer.client.calls.api_calls import ApiCalls, path_below
from gossamer.client.options import MonitorChangeKeywords, MonitorKeywords, TrialKeywords, body_of

if TYPE_CHECKING:
    from gossamer.web.monitors.monitor_answer import (
        ChangeLine,
        CheckLine,
        MonitorAccepted,
        MonitorLine,
        ShownChange,
        ShownMonitor,
        TrialAnswer,
    )

MAX_CHECKS: Final = 100
_HERE: Final = "/api/monitors"


class MonitorCalls(ApiCalls):
    async def add_monitor(
        self, watch: Mapping[str, Any], **options: Unpack[MonitorKeywords]
    ) -> "ShownMonitor":
        """Watch something: `watch` is `{"kind": "page", "url": …}`, or a list, a crawl or a search."""
        body = {"watch": watch, **body_of("add_monitor", MonitorKeywords, options)}
        return await self._ask_monitor("POST", _HERE, body)

    async def monitors(self, *, limit: int = 50) -> "list[MonitorLine]":
        """Monitors, the newest first."""
        from gossamer.web.monitors.monitor_answer import MonitorList

        return await self.list_rows(_HERE, MonitorList, lambda page: page.monitors, limit)

    async def monitor(self, id: str) -> "ShownMonitor":  # noqa: A002
        return await self._ask_monitor("GET", path_below(_HERE, id))

    async def change_monitor(self, id: str, **changes: Unpack[MonitorChangeKeywords]) -> "ShownMonitor":  # noqa: A002
        """Change, pause, resume or mute it; the rest stays."""
        body = body_of("change_monitor", MonitorChangeKeywords, changes)
        return await self._ask_monitor("PATCH", path_below(_HERE, id), body)

    async def snooze_monitor(self, id: str, duration: str = "1d") -> "ShownMonitor":  # noqa: A002
        """Tell nothing for `2h` or `3d`; `0s` ends it."""
        return await self._ask_monitor("POST", path_below(_HERE, id, "snooze"), {"for": duration})

    async def check_monitor(self, id: str) -> "MonitorAccepted":  # noqa: A002
        """Queue a check."""
        from gossamer.web.monitors.monitor_answer import MonitorAccepted

        return await self.ask("POST", path_below(_HERE, id, "check"), MonitorAccepted)

    async def remove_monitor(self, id: str) -> "ShownMonitor":  # noqa: A002
        """Delete it with its history."""
        return await self._ask_monitor("DELETE", path_below(_HERE, id))

    async def monitor_changes(self, id: str, *, limit: int = 50) -> "list[ChangeLine]":  # noqa: A002
        """What it has found, the newest first."""
        from gossamer.web.monitors.monitor_answer import ChangeList

        where = path_below(_HERE, id, "changes")
        return await self.list_rows(where, ChangeList, lambda page: page.changes, limit)

    async def monitor_checks(self, id: str, *, limit: int = 50) -> "list[CheckLine]":  # noqa: A002
        """What became of its last checks: why it fired, and why not."""
        from gossamer.web.monitors.monitor_answer import CheckList

        query = urlencode({"limit": min(limit, MAX_CHECKS)})
        return (await self.ask("GET", f"{path_below(_HERE, id, 'checks')}?{query}", CheckList)).checks

    async def monitor_change(
        self,
        id: str,  # noqa: A002
        change_id: str,
        *,
        format: Literal["json", "unified", "markdown"] = "json",  # noqa: A002
    ) -> "ShownChange":
        """A change with its difference."""
        from gossamer.web.monitors.monitor_answer import ShownChange

        path = f"{path_below(_HERE, id, 'changes', change_id)}?{urlencode({'format': format})}"
        return await self.ask("GET", path, ShownChange)

    async def try_rules(
        self, before: Mapping[str, Any], after: Mapping[str, Any], **options: Unpack[TrialKeywords]
    ) -> "TrialAnswer":
        """What a monitor would say about two pages, each `{"url": …}`, `{"html": …}` or `{"text": …}`."""
        from gossamer.web.monitors.monitor_answer import TrialAnswer

        body = {"before": before, "after": after, **body_of("try_rules", TrialKeywords, options)}
        return await self.ask("POST", f"{_HERE}/try", TrialAnswer, body)

    async def _ask_monitor(self, method: str, path: str, body: Any = None) -> "ShownMonitor":
        from gossamer.web.monitors.monitor_answer import ShownMonitor

        return await self.ask(method, path, ShownMonitor, body)
