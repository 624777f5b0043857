"""Tools for what goes on by itself: monitors that watch the web, and schedules that start work."""

from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.mcp import wording
from gossamer.doors.mcp.own_api import Refused
from gossamer.doors.mcp.tools.tool import (
    Content,
    ToolArguments,
    ToolCall,
    ToolDeclaration,
    WrongArguments,
)

FOUND: Final = "What was found"
SHOWN: Final = 20  # of each list
NOT_FOUND: Final = 404
MONITORS, SCHEDULES = "/api/monitors", "/api/schedules"
Every = Annotated[str, Meta(description="How often: 30m, 6h, 1d.")]


class WatchArguments(ToolArguments, frozen=True, kw_only=True):
    url: str | UnsetType = UNSET
    query: Annotated[
        str | UnsetType, Meta(description="Instead of a page: watch the results of a search.")
    ] = UNSET
    every: Every = "1d"
    keywords: Annotated[
        tuple[str, ...], Meta(description="Tell only when one of these appears or disappears.")
    ] = ()
    selector: Annotated[str | UnsetType, Meta(description="CSS: watch only this part of the page.")] = UNSET
    name: str = ""

    def body(self) -> dict[str, Any]:
        if (self.url is UNSET) == (self.query is UNSET):
            raise WrongArguments("`watch` takes `url` or `query`, one of them.")
        watch = (
            {"kind": "page", "url": self.url}
            if self.query is UNSET
            else {"kind": "search", "query": self.query}
        )
        body = {"watch": watch, "timing": {"every": self.every}, "name": self.name}
        rules: list[dict[str, Any]] = []
        if self.keywords:
            rules.append({"kind": "keywords", "appear": self.keywords, "disappear": self.keywords})
        if self.selector is not UNSET:
            rules.append({"kind": "selector", "selector": self.selector})
        return {**body, "rules": rules} if rules else body


async def watch(call: ToolCall, asked: WatchArguments) -> Content:
    made = await call.api.post(MONITORS, asked.body())
    told = f"It is watched, as {made['monitorId']}. `automation` with this id tells what has changed."
    return [wording.text(told)]


class ScheduleArguments(ToolArguments, frozen=True, kw_only=True):
    crawl: Annotated[str | UnsetType, Meta(description="The address of a site to crawl.")] = UNSET
    urls: Annotated[tuple[str, ...], Meta(description="Or pages to read.")] = ()
    every: Annotated[str | UnsetType, Meta(description="How often: 30m, 6h, 1d. Or `cron`.")] = UNSET
    cron: Annotated[str | UnsetType, Meta(description="Such as 0 9 * * MON-FRI.")] = UNSET
    timezone: str = "UTC"
    max_pages: Annotated[int, Meta(ge=1, description="Of a crawl.")] = 100
    name: str = ""

    def body(self) -> dict[str, Any]:
        if (self.crawl is UNSET) == (not self.urls):
            raise WrongArguments("`schedule` takes `crawl` or `urls`, one of them.")
        task = (
            {"kind": "batch", "urls": self.urls}
            if self.urls
            else {"kind": "crawl", "seeds": [self.crawl], "maxPages": self.max_pages}
        )
        timing: dict[str, Any] = {"timezone": self.timezone}
        timing |= {"every": self.every} if self.every is not UNSET else {}
        timing |= {"cron": self.cron} if self.cron is not UNSET else {}
        return {"task": task, "timing": timing, "name": self.name}


async def schedule(call: ToolCall, asked: ScheduleArguments) -> Content:
    made = await call.api.post(SCHEDULES, asked.body())
    return [wording.text(f"It is scheduled, as {made['scheduleId']}. The next run is {made['nextRunAt']}.")]


class AutomationArguments(ToolArguments, frozen=True, kw_only=True):
    id: str | UnsetType = UNSET
    action: Annotated[
        Literal["pause", "resume", "delete"] | UnsetType, Meta(description="What to do with it.")
    ] = UNSET


async def automation(call: ToolCall, asked: AutomationArguments) -> Content:
    if asked.id is UNSET:
        return await _list_all(call)
    here = f"{MONITORS}/{quote(asked.id, safe='')}"
    try:
        shown = await call.api.get(here)
    except Refused as refused:
        if refused.status != NOT_FOUND:
            raise
        here = f"{SCHEDULES}/{quote(asked.id, safe='')}"
        shown = await call.api.get(here)
    if asked.action is not UNSET:
        return await _change(call, here, asked.action)
    return await (_tell_monitor if here.startswith(MONITORS) else _tell_schedule)(call, here, shown)


async def _change(call: ToolCall, here: str, action: str) -> Content:
    if action == "delete":
        await call.api.delete(here)
        return [wording.text("It is deleted, with its history.")]
    if here.startswith(MONITORS):
        await call.api.patch(here, {"paused": action == "pause"})
    else:
        await call.api.post(f"{here}/{action}", {})
    return [wording.text("It is paused." if action == "pause" else "It goes on.")]


async def _list_all(call: ToolCall) -> Content:
    monitors = (await call.api.get(f"{MONITORS}?limit={SHOWN}"))["monitors"]
    schedules = (await call.api.get(f"{SCHEDULES}?limit=100"))["schedules"]
    own = [one for one in schedules if one["subject"] is None][:SHOWN]  # the others belong to monitors
    lines = [
        f"- monitor {one['monitorId']}: {wording.line(one['name'] or one['watched'])}, {one['status']}, "
        f"{one['changes']} changes, the last {_when(one['changedAt'])}"
        for one in monitors
    ]
    lines += [
        f"- schedule {one['scheduleId']}: {wording.line(one['name'] or one['kind'])}, {one['status']}, "
        f"next {_when(one['nextRunAt'])}, {one['failures']} failures in a row"
        for one in own
    ]
    if not lines:
        return [wording.text("Nothing is watched or scheduled.")]
    return [wording.text("With an `id`, more of one.", wording.strangers("\n".join(lines), FOUND))]


async def _tell_monitor(call: ToolCall, here: str, shown: Any) -> Content:
    changes = (await call.api.get(f"{here}/changes?limit={SHOWN}"))["changes"]
    facts = wording.listed([f"Status {shown['status']}", f"checked {_when(shown['checkedAt'])}"])
    lines = [
        f"- {change['seenAt']} {change['url']}: {wording.line(_reason(reason), 400)}"
        for change in changes
        for reason in change["reasons"]
    ]
    told = wording.strangers("\n".join(lines), FOUND) if lines else "Nothing has changed so far."
    return [wording.text(facts, told)]


def _when(moment: str | None) -> str:
    return f"at {moment}" if moment else "never"


def _reason(reason: Any) -> str:
    kind = reason["kind"].replace("_", " ")
    return f"{kind}: {reason.get('old', '')} → {reason.get('new', '')}"


async def _tell_schedule(call: ToolCall, here: str, shown: Any) -> Content:
    runs = (await call.api.get(f"{here}/runs?limit={SHOWN}"))["runs"]
    lines = [
        f"- {run['at']}: {run['status']}{' as ' + run['workId'] if run['workId'] else ''}"
        f"{', ' + run['reason'] if run['reason'] else ''}"
        for run in runs
    ]
    facts = wording.listed([f"Status {shown['status']}", f"next {_when(shown['nextRunAt'])}"])
    told = "What it has started is told by `job`." if lines else "It has not run yet."
    return [wording.text(facts, *lines, told)]


TOOLS: Final = (
    ToolDeclaration(
        "watch",
        "Watch",
        "Look at a page or a search again and again, and note what really changes.",
        WatchArguments,
        watch,
        changes=True,
    ),
    ToolDeclaration(
        "schedule",
        "Schedule",
        "Crawl a site or read pages again and again.",
        ScheduleArguments,
        schedule,
        changes=True,
    ),
    ToolDeclaration(
        "automation",
        "Automation",
        "List what is watched and scheduled. With `id`, its changes or runs; with `action`, control it.",
        AutomationArguments,
        automation,
        changes=True,
        destroys=True,
    ),
)
