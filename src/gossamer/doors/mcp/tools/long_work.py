"""Tools for many pages. Work that takes long is followed for a while; then `job` tells about it."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from gossamer.client.errors import ConnectionFailed
from gossamer.doors.mcp import wording
from gossamer.doors.mcp.own_api import Refused
from gossamer.doors.mcp.tools import results
from gossamer.doors.mcp.tools.following import Progress, crawl_progress, follow, job_progress
from gossamer.doors.mcp.tools.pages import LookedFor, PageAddress, Render
from gossamer.doors.mcp.tools.results import WorkId, WorkKind
from gossamer.doors.mcp.tools.tool import Content, ToolArguments, ToolCall, ToolDeclaration

Patterns = Annotated[tuple[str, ...], Meta(description="Patterns of addresses; * is anything.")]
Capability = Annotated[
    str,
    Meta(
        pattern=r"^cap_[0-9A-Za-z_-]{1,200}$",
        description="As the tool has told it, if a wallet has paid for the work.",
    ),
]
UNAUTHORIZED: Final = 401
_SEALED: Final = (
    "This payment has bought {which} before, and the first answer has told its capability. A payment is "
    "public and opens nothing by itself. Give payments a payment-identifier to get the same answer again."
)
_TIERS: Final = {"never": "basic", "auto": "auto", "always": "pro"}


class CrawlArguments(ToolArguments, frozen=True, kw_only=True):
    url: Annotated[str, Meta(description="Where to begin.")]
    max_pages: Annotated[int, Meta(ge=1, le=10_000)] = 20
    max_depth: Annotated[int, Meta(ge=0, le=100, description="Links away from the first page.")] = 3
    scope: Annotated[
        Literal["host", "domain", "prefix", "any"],
        Meta(description="Stay on the host, its domain, below the first page's folder, or anywhere."),
    ] = "host"
    include: Patterns | UnsetType = UNSET
    exclude: Patterns | UnsetType = UNSET
    render: Annotated[Literal["never", "auto", "always"], Meta(description="Use a browser.")] = "never"


async def crawl(call: ToolCall, asked: CrawlArguments) -> Content:
    body = asked.given()
    body["seeds"] = [body.pop("url")]
    started = await call.api.post("/api/crawls", body)
    which = WorkId(WorkKind.CRAWL, started["crawlId"])
    return await _tell(call, which, f"{started['statusUrl']}/events", crawl_progress)


class BatchArguments(ToolArguments, frozen=True, kw_only=True):
    urls: Annotated[tuple[str, ...], Meta(min_length=1, max_length=1_000, description="Addresses of pages.")]
    max_tokens: Annotated[int, Meta(ge=100, le=50_000, description="The most tokens of each page.")] = 2_000
    query: LookedFor | UnsetType = UNSET
    render: Render = "auto"


async def batch(call: ToolCall, asked: BatchArguments) -> Content:
    body = asked.given()
    tier = _TIERS[body.pop("render")]
    started = await call.api.post("/batch/fetch", body | {"tier": tier, "formats": ["llm"], "cache": True})
    return await _tell(call, WorkId(WorkKind.BATCH, started["batchId"]), started["eventsUrl"], job_progress)


class AuditArguments(ToolArguments, frozen=True, kw_only=True):
    url: PageAddress
    max_pages: Annotated[
        int, Meta(ge=1, le=1_000, description="More than one audits the site from this page on.")
    ] = 1


async def audit(call: ToolCall, asked: AuditArguments) -> Content:
    body = {"url": asked.url, "options": {"maxPages": asked.max_pages}}
    started = await call.api.post("/audits", body)
    return await _tell(call, WorkId(WorkKind.AUDIT, started["auditId"]), started["eventsUrl"], job_progress)


async def _tell(
    call: ToolCall, which: WorkId, events: str, progress: Callable[[Any], Progress | None]
) -> Content:
    """What has been bought is never lost: if its results cannot be told now, they can be asked for later."""
    try:
        await follow(call, events, progress)
        return await results.tell(call, which)
    except (Refused, ConnectionFailed) as failed:
        if call.api.capability is not None:
            said = wording.error(failed.problem) if isinstance(failed, Refused) else str(failed)
            return [wording.text(said, f"The work goes on. Ask later: {results.how_to_ask(call, which)}.")]
        if call.api.is_paid and isinstance(failed, Refused) and failed.status == UNAUTHORIZED:
            return [wording.text(_SEALED.format(which=which))]
        raise


class JobArguments(ToolArguments, frozen=True, kw_only=True):
    id: Annotated[str, Meta(description="As crawl, batch or audit have answered it: crawl:01J…")]
    cursor: Annotated[
        str | UnsetType, Meta(description="As the last answer has named it: the next results.")
    ] = UNSET
    capability: Capability | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=50, description="The most pages in one answer.")] = results.PAGES
    cancel: Annotated[bool, Meta(description="Stop the work; what is finished stays.")] = False


async def job(call: ToolCall, asked: JobArguments) -> Content:
    which = WorkId.parse(asked.id)
    if which is None:
        return [wording.text("This is no id of a job. Ids look like crawl:01J…, batch:01J… or audit:01J….")]
    call.api.capability = asked.capability or None
    if asked.cancel:
        await _cancel(call, which)
    return await results.tell(call, which, asked.cursor or None, asked.limit)


async def _cancel(call: ToolCall, which: WorkId) -> None:
    if which.kind is WorkKind.CRAWL:
        await call.api.post(f"/api/crawls/{which.key}/stop", {})
        return
    key = which.key
    if which.kind is WorkKind.AUDIT:
        key = (await call.api.get(f"/audits/{key}"))["jobId"]
    await call.api.delete(f"/api/jobs/{key}")


class MapArguments(ToolArguments, frozen=True, kw_only=True):
    url: Annotated[str, Meta(description="A page of the site.")]
    search: Annotated[str | UnsetType, Meta(description="Words that addresses should match best.")] = UNSET
    limit: Annotated[int, Meta(ge=1, le=5_000)] = 200
    include_subdomains: bool = False


async def map_site(call: ToolCall, asked: MapArguments) -> Content:
    found = await call.api.post("/map", asked.given())
    links: list[dict[str, Any]] = found["links"]
    words = "\n".join(
        f"- {link['url']} {wording.line(link.get('title') or '', 200)}".rstrip() for link in links
    )
    kept, note = wording.cut(words, "Use `search` or a smaller `limit`.")
    said = f"{len(links)} addresses of the site."
    return [
        wording.text(said, wording.strangers(kept, "A list of addresses and titles") if links else "", note)
    ]


TOOLS: Final = (
    ToolDeclaration(
        "map",
        "Map a site",
        "List the addresses of a site's pages, by its sitemaps and links. Read them with `fetch` or `batch`.",
        MapArguments,
        map_site,
    ),
    ToolDeclaration(
        "crawl",
        "Crawl a site",
        "Follow links and read the pages of a site. Answers with them, or after 25 seconds with a job id.",
        CrawlArguments,
        crawl,
        changes=True,
    ),
    ToolDeclaration(
        "batch",
        "Fetch many pages",
        "Read many pages at once. Answers with them, or after 25 seconds with a job id.",
        BatchArguments,
        batch,
        changes=True,
    ),
    ToolDeclaration(
        "audit",
        "Audit a page or site",
        "Check a page or site for search engines, agents, speed and security, with a fix for each finding.",
        AuditArguments,
        audit,
        changes=True,
    ),
    ToolDeclaration(
        "job",
        "Ask for a job",
        "How far a crawl, batch or audit is, its results page by page, or cancel it.",
        JobArguments,
        job,
        changes=True,
    ),
)
