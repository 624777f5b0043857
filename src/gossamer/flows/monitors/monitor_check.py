"""MonitorChecker: a check is a job. It looks at everything, compares each page with the last good look, and
writes snapshots, changes and what is told about them in the transaction that ends the job.

A captcha, an error, a log-in wall or an empty page is never a change: the last good look stays, and the check
has failed. Only a rule about the status watches for these.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from ulid import ULID

from gossamer import problems
from gossamer.flows.data.removal.leftovers import drop_orphans
from gossamer.flows.monitors.appearance import differing_share
from gossamer.flows.monitors.look_sources import LookSources
from gossamer.flows.monitors.page_looker import PageLook
from gossamer.flows.monitors.telling import MonitorNews, UnreadPage, tell
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs.job import Job
from gossamer.state.monitors import changes, monitors, snapshots
from gossamer.state.monitors.changes import CheckOutcome, StoredChange, StoredCheck
from gossamer.state.monitors.monitors import StoredMonitor
from gossamer.state.monitors.snapshots import PackedSnapshot, SnapshotStore, StoredSnapshot, page_key
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.monitors.monitor_spec import MonitoredCrawl, MonitorSpec
from gossamer.web.monitors.rules.change_reason import ChangeReason, IgnoredNoise, ReasonKind
from gossamer.web.monitors.rules.comparing import ChangeVerdict, SnapshotComparison

KIND: Final = "monitor"
MAX_TROUBLES: Final = 20  # that a check names
MAX_IGNORED: Final = 50
LOOKING, COMPARED = 5, 90  # percent


class MonitorPayload(Struct, frozen=True):
    """What the job carries: the monitor, and the rights of whoever wanted the check."""

    monitor_id: str
    key_id: str = ""
    tier: str = "free"
    role: str = "user"


class CheckDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a check has found besides changes."""

    pages: int = 0
    troubles: tuple[UnreadPage, ...] = ()
    ignored: tuple[IgnoredNoise, ...] = ()


class CheckWork(Protocol):
    """What a check needs of its job."""

    canceled: bool

    @property
    def job(self) -> Job: ...

    @property
    def payload(self) -> MonitorPayload: ...

    async def step(self, name: str, pct: int | None = None, data: Any = None) -> None: ...

    def finishing(self, result: Any = None) -> AbstractAsyncContextManager[AsyncConnection]: ...


class PageFinding(Struct, frozen=True):
    """A page that was looked at: what is to be written about it."""

    url: str
    before: str | None  # the snapshot that it was compared with
    packed: PackedSnapshot | None = None  # a new one; None: the old one was seen again
    seen_at: int = 0
    verdict: ChangeVerdict = ChangeVerdict()
    is_unconfirmed: bool = False
    trouble: UnreadPage | None = None


class CheckFindings(Struct):
    pages: list[PageFinding] = field(default_factory=list)
    gone: dict[str, StoredSnapshot] = field(default_factory=dict)  # pages that a crawl has no more
    is_first: bool = False

    @property
    def troubles(self) -> tuple[UnreadPage, ...]:
        return tuple(page.trouble for page in self.pages if page.trouble is not None)

    @property
    def result(self) -> CheckOutcome:
        if any(page.verdict.is_change for page in self.pages) or self.gone:
            return CheckOutcome.CHANGED
        if self.troubles:
            return CheckOutcome.FAILED
        if any(page.is_unconfirmed for page in self.pages):
            return CheckOutcome.UNCONFIRMED
        return CheckOutcome.FIRST if self.is_first else CheckOutcome.SAME

    @property
    def detail(self) -> CheckDetail:
        ignored = [noise for page in self.pages for noise in page.verdict.ignored]
        return CheckDetail(
            pages=len(self.pages),
            troubles=self.troubles[:MAX_TROUBLES],
            ignored=tuple(ignored[:MAX_IGNORED]),
        )


class MonitorChecker(Struct, frozen=True):
    sources: LookSources
    store: SnapshotStore
    keys: WebhookKeys
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def database(self) -> Database:
        return self.store.database

    async def run(self, work: CheckWork) -> None:
        monitor = await self._load(work.payload.monitor_id)
        headers = await self.keys.open(monitor.owner, monitor.headers_sealed)
        spec = monitor.spec.with_headers(headers)
        await work.step("looking", LOOKING)
        findings = await self._check(monitor, spec, caller_of(work))
        await work.step("writing", COMPARED)
        result = {
            "monitorId": monitor.id,
            "result": findings.result.value,
            "pages": len(findings.pages),
            "changes": _count_changes(findings),
            "failed": len(findings.troubles),
        }
        orphans: list[str] = []
        async with work.finishing(result) as connection:
            # Changed or removed meanwhile: what was seen answers a question that nobody asks any more.
            now = await monitors.lock(connection, monitor.id)
            if now is not None and now.edition == monitor.edition:
                await self._write(connection, now, findings, work.job.job_id)
                orphans += await snapshots.sweep(connection, monitor.id)
        await drop_orphans(self.database, self.store.blobs, orphans)

    async def _load(self, monitor_id: str) -> StoredMonitor:
        async with self.database.read() as connection:
            monitor = await monitors.get(connection, monitor_id)
        if monitor is None:
            raise Problem(problems.NOT_FOUND, "There is no monitor for this job.")
        return monitor

    # Looking and comparing.

    async def _check(self, monitor: StoredMonitor, spec: MonitorSpec, caller: Caller) -> CheckFindings:
        is_crawl = isinstance(spec.watch, MonitoredCrawl)
        known = await self.store.current(monitor.id) if is_crawl else {}
        is_new = monitor.checked_at is None or (is_crawl and not known)
        findings = CheckFindings(is_first=is_new)
        fingerprints = {one.snapshot.url: one.snapshot.fingerprint for one in known.values()}
        seen: set[str] = set()
        async with aclosing(self.sources.look(spec, caller, fingerprints)) as looking:
            async for look in looking:
                page = page_key(look.snapshot.url)
                seen.add(page)
                old = known.get(page) if is_crawl else await self._last(monitor.id, page)
                findings.pages.append(
                    await self._find(spec, caller, look, old, appears=is_crawl and not is_new)
                )
        if is_crawl and seen:
            findings.gone = {page: one for page, one in known.items() if page not in seen}
        return findings

    async def _last(self, monitor_id: str, page: str) -> StoredSnapshot | None:
        return (await self.store.current(monitor_id, [page])).get(page)

    async def _find(
        self, spec: MonitorSpec, caller: Caller, look: PageLook, old: StoredSnapshot | None, *, appears: bool
    ) -> PageFinding:
        new = look.snapshot
        if not new.is_good and not spec.watches_status:
            return _failed(look, old)
        if old is None:
            found = (ChangeReason(kind=ReasonKind.PAGE_APPEARED, rule=0, new=new.title),) if appears else ()
            return await self._packed(look, None, ChangeVerdict(found))
        if new.fingerprint and new.fingerprint == old.snapshot.fingerprint:
            return PageFinding(new.url, old.id, seen_at=round(new.taken_at * 1000))
        look, verdict = await self._judge(spec, look, old)
        if verdict.is_change and spec.confirm_after and spec.is_page:
            await self.sleep(spec.confirm_after)
            again = await self.sources.looker.look(spec, new.url, caller)
            if not again.snapshot.is_good and not spec.watches_status:
                return _failed(again, old)
            look, verdict = await self._judge(spec, again, old)
            if not verdict.is_change:
                return PageFinding(
                    new.url, old.id, seen_at=round(look.snapshot.taken_at * 1000), is_unconfirmed=True
                )
        return await self._packed(look, old, verdict)

    async def _judge(
        self, spec: MonitorSpec, look: PageLook, old: StoredSnapshot
    ) -> tuple[PageLook, ChangeVerdict]:
        """The look as it is kept, and what the rules say."""
        share = None
        if spec.appearance is not None and look.picture is not None and old.snapshot.picture:
            before = await self.store.picture(old.snapshot.picture)
            if before is not None:
                share = await differing_share(before, look.picture, spec.appearance)
        comparison = SnapshotComparison(old.snapshot, look.snapshot, spec.noise, share)
        verdict = await asyncio.to_thread(comparison.judge, spec.rules)
        new = look.snapshot
        if new.is_good:
            new = replace(new, anchors=comparison.anchors(spec.rules, verdict))
        elif old.snapshot.is_read:
            new = old.snapshot.with_status_of(new)
        fired = any(reason.kind is ReasonKind.APPEARANCE_CHANGED for reason in verdict.reasons)
        if share is not None and not fired:  # a slow drift adds up until it is told
            return PageLook(replace(new, picture=old.snapshot.picture)), verdict
        return PageLook(new, look.picture), verdict

    async def _packed(
        self, look: PageLook, old: StoredSnapshot | None, verdict: ChangeVerdict
    ) -> PageFinding:
        new, seen_at = look.snapshot, round(look.snapshot.taken_at * 1000)
        before = old.id if old is not None else None
        is_same = old is not None and old.snapshot.equals(new) and look.picture is None
        if is_same and not verdict.is_change:
            return PageFinding(new.url, before, seen_at=seen_at, verdict=verdict)
        packed = await self.store.pack(new, look.picture)
        return PageFinding(new.url, before, packed, seen_at, verdict)

    # Writing.

    async def _write(
        self, connection: AsyncConnection, monitor: StoredMonitor, findings: CheckFindings, job_id: str
    ) -> None:
        now = await monitors.read_clock(connection)
        told = not monitor.is_quiet(now)
        new: list[StoredChange] = []
        for page in findings.pages:
            await self._write_page(connection, monitor, page)
            if page.verdict.is_change and page.packed is not None:
                new.append(_change(monitor, job_id, page, told))
        for one in findings.gone.values():
            gone = (ChangeReason(kind=ReasonKind.PAGE_DISAPPEARED, rule=0, old=one.snapshot.title),)
            finding = PageFinding(one.snapshot.url, one.id, verdict=ChangeVerdict(gone))
            new.append(_change(monitor, job_id, finding, told))
        await snapshots.retire(connection, monitor.id, list(findings.gone))
        for change in new:
            await changes.add(connection, change)
        detail = msgspec.json.encode(findings.detail).decode()
        check = StoredCheck(job_id, monitor.id, monitor.tenant_id, findings.result, detail)
        await changes.add_check(connection, check)
        await self._note(connection, monitor, findings, new, told)
        await changes.prune(connection, monitor.id)

    async def _write_page(
        self, connection: AsyncConnection, monitor: StoredMonitor, page: PageFinding
    ) -> None:
        if page.packed is not None:
            await snapshots.put(connection, monitor.id, monitor.tenant_id, page.packed)
        elif page.before is not None and page.trouble is None and not page.is_unconfirmed:
            await snapshots.see_again(connection, page.before, page.seen_at)

    async def _note(
        self,
        connection: AsyncConnection,
        monitor: StoredMonitor,
        findings: CheckFindings,
        new: list[StoredChange],
        told: bool,
    ) -> None:
        """Count failures, and tell what is to be told."""
        troubles = findings.troubles
        is_failing = bool(troubles) and monitor.failures + 1 >= monitor.spec.fail_after
        if troubles:
            await monitors.note_failed(
                connection,
                monitor.id,
                problem=troubles[0].problem,
                changes=len(new),
                is_failing=is_failing,
            )
        else:
            await monitors.note_good(connection, monitor.id, changes=len(new))
        if told:
            news = MonitorNews(
                changes=new,
                failing=troubles if is_failing and monitor.failing_since is None else (),
                recovered=not troubles and monitor.failing_since is not None,
            )
            await tell(connection, monitor, news)


def caller_of(work: CheckWork) -> Caller:
    wanted = work.payload
    return Caller(Role(wanted.role), wanted.key_id, work.job.tenant_id, Tier(wanted.tier))


def _failed(look: PageLook, old: StoredSnapshot | None) -> PageFinding:
    snapshot = look.snapshot
    problem = snapshot.problem or (snapshot.outcome.value if snapshot.outcome else "")
    trouble = UnreadPage(
        url=snapshot.url, problem=problem, reason=snapshot.reason, status=snapshot.status or None
    )
    return PageFinding(snapshot.url, old.id if old else None, trouble=trouble)


def _change(monitor: StoredMonitor, job_id: str, page: PageFinding, told: bool) -> StoredChange:
    return StoredChange(
        id=str(ULID()),
        monitor_id=monitor.id,
        tenant_id=monitor.tenant_id,
        check_id=job_id,
        url=page.url,
        before_id=page.before,
        after_id=page.packed.id if page.packed is not None else None,
        verdict=page.verdict,
        told=told,
    )


def _count_changes(findings: CheckFindings) -> int:
    return sum(page.verdict.is_change for page in findings.pages) + len(findings.gone)
