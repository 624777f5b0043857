"""Results of long work, a part at a time."""

from enum import StrEnum
from typing import Any, Final, Self
from urllib.parse import quote

from msgspec import Struct

from gossamer.doors.mcp import wording
from gossamer.doors.mcp.tools.following import is_over
from gossamer.doors.mcp.tools.tool import Content, ToolCall
from gossamer.web.content.marked import add_at_top

PAGES: Final = 10  # in one answer
FINDINGS: Final = 40
_PIECES_OF_EVIDENCE: Final = 3


class WorkKind(StrEnum):
    CRAWL = "crawl"
    BATCH = "batch"
    AUDIT = "audit"


class WorkId(Struct, frozen=True):
    """What `job` takes: the kind of the work, and its id in the API."""

    kind: WorkKind
    key: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        kind, _, key = text.strip().partition(":")
        return cls(WorkKind(kind), key) if kind in set(WorkKind) and key.isalnum() else None

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"


async def tell(call: ToolCall, which: WorkId, cursor: str | None = None, limit: int = PAGES) -> Content:
    """How far the work is, and what it has so far."""
    match which.kind:
        case WorkKind.CRAWL:
            parts = await _tell_crawl(call, which, cursor, limit)
        case WorkKind.BATCH:
            parts = await _tell_batch(call, which, cursor, limit)
        case WorkKind.AUDIT:
            parts = await _tell_audit(call, which)
    return [wording.text(*parts)]


async def _tell_crawl(call: ToolCall, which: WorkId, cursor: str | None, limit: int) -> list[str]:
    crawl = await call.api.get(f"/api/crawls/{which.key}")
    counts = crawl["counts"]
    state = f"The crawl is {crawl['status']}: {counts['pages']} pages, {counts['pending']} addresses waiting."
    waiting = (crawl.get("waiting") or {}).get("reason")
    path = f"/api/crawls/{which.key}/pages?content=markdown&limit={limit}{_after(cursor)}"
    found = await call.api.get(path)
    share = wording.MAX_CHARS // max(len(found["pages"]), 1)
    pages = [_crawled(page, share) for page in found["pages"]]
    return [
        state,
        f"It waits: {waiting}." if waiting else "",
        wording.strangers("\n\n".join(pages), "The content of web pages") if pages else "",
        _next(call, which, crawl["status"], found["nextCursor"]),
    ]


def _crawled(page: dict[str, Any], share: int) -> str:
    title = wording.line(page["title"] or "")
    about = f"## {page['url']}\nStatus {page['statusCode']}, {page['outcome']}. {title}"
    words, note = wording.cut(page.get("content") or "", "Read it with `fetch`.", share)
    return "\n".join(part for part in (about, words, note) if part)


async def _tell_batch(call: ToolCall, which: WorkId, cursor: str | None, limit: int) -> list[str]:
    batch = await call.api.get(f"/batch/fetch/{which.key}")
    state = (
        f"The batch is {batch['status']}: {batch['ok']} of {batch['total']} pages ok, {batch['notOk']} are "
        f"something else, {batch['failed']} failed, {batch['pending']} waiting."
    )
    found = await call.api.get(f"/batch/fetch/{which.key}/results?limit={limit}{_after(cursor)}")
    pages = [_fetched(result) for result in found["results"]]
    return [state, *pages, _next(call, which, batch["status"], found["nextCursor"])]


def _fetched(line: dict[str, Any]) -> str:
    page = line.get("result")
    if page is None:
        problem = line.get("problem") or {}
        told = f"{wording.line(line['url'], 2_048)}: {wording.line(problem.get('message', ''))}"
        return f"A page failed ({problem.get('code', '')}).\n" + wording.strangers(told, wording.ERROR)
    heading = f"Title: {wording.line(page['title'])}\nAddress: {wording.line(page['finalUrl'], 2_048)}\n"
    facts = f"Page {line['index'] + 1}: status {page['statusCode']}, outcome {page['outcome']}."
    return f"{facts}\n{add_at_top(page['content'], heading)}"


async def _tell_audit(call: ToolCall, which: WorkId) -> list[str]:
    audit = await call.api.get(f"/audits/{which.key}")
    if audit["score"] is None:
        return [f"The audit is {audit['status']}.", _next(call, which, audit["status"], None)]
    findings = audit["findings"]
    counts = ", ".join(f"{count} {name}" for name, count in (audit["severities"] or {}).items() if count)
    shown = "\n".join(_finding(one) for one in findings[:FINDINGS])
    rest = len(findings) - FINDINGS
    return [
        f"Score {audit['score']} of 100. Findings: {counts or 'none'}.",
        wording.strangers(shown, "A list of findings, which quote the page,") if shown else "",
        f"{rest} more findings are in the report at /audits/{which.key}." if rest > 0 else "",
        _next(call, which, audit["status"], None),
    ]


def _finding(one: dict[str, Any]) -> str:
    evidence = "; ".join(wording.line(piece, 200) for piece in one["evidence"][:_PIECES_OF_EVIDENCE])
    seen = f" Seen: {evidence}" if evidence else ""
    return f"- {one['severity']} {one['id']}: {one['title']} Fix: {one['fix']}{seen}"


def _after(cursor: str | None) -> str:
    return "" if cursor is None else f"&cursor={quote(str(cursor))}"


def how_to_ask(call: ToolCall, which: WorkId) -> str:
    """How `job` is called for this work. Without a key it takes the capability, which is told here alone."""
    opened = f" and capability {call.api.capability}" if call.api.capability else ""
    return f"call job with id {which}{opened}"


def _next(call: ToolCall, which: WorkId, status: str, cursor: Any) -> str:
    how = how_to_ask(call, which)
    if cursor is not None:
        return f"There is more: {how} and cursor {cursor}."
    if not is_over(status):
        return f"It goes on. Ask later: {how}."
    return f"To read it again, {how}." if call.api.capability else ""
