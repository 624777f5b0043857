"""Monitors: what really changed is told once; what could not be read is never a change."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import force_setattr
from sqlalchemy import func, select
from tests.contract.monitors.monitor_ground import BODY, BY, FILLER, MonitorGround, open_ground

from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem
from gossamer.state.db.columns import metadata
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.monitors import monitors, snapshots
from gossamer.state.schedules import schedules
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.monitors.monitor_request import MonitorChange
from gossamer.web.monitors.monitor_spec import LookOptions, MonitoredCrawl, MonitoredList, MonitoredSearch
from gossamer.web.monitors.rules.change_rule import (
    FieldsRule,
    NumberRule,
    SelectorRule,
    StatusRule,
    TextRule,
)
from gossamer.web.schedules.schedule_words import ScheduleKind
from gossamer.web.schedules.timing import Timing

LOGIN = "<p>Please sign in</p><form><input type=password name=p></form>"


@pytest.fixture
async def ground(database_url: str, tmp_path: Path) -> AsyncIterator[MonitorGround]:
    async with open_ground(database_url, tmp_path) as ground:
        yield ground


async def test_a_change_is_told_once_with_the_pages_before_and_after(ground: MonitorGround) -> None:
    await ground.listen()
    ground.origin.show("<p>Price: £89.00</p><p>12 views</p>")
    monitor = (await ground.add(name="pack")).monitor
    assert (await ground.run_next())["result"] == "first"
    ground.origin.show("<p>Price: £89.00</p><p>99 views</p>")
    assert (await ground.check(monitor.id))["result"] == "same"
    ground.origin.show("<p>Price: £84.00</p><p>120 views</p>")
    assert (await ground.check(monitor.id))["result"] == "changed"
    assert (await ground.check(monitor.id))["result"] == "same"

    (change,) = await ground.changes(monitor.id)
    (reason,) = change.verdict.reasons
    assert (reason.kind.value, reason.old, reason.new) == ("text_changed", "Price: £89.00", "Price: £84.00")
    assert [noise.noise.value for noise in change.verdict.ignored] == ["counter"]
    found = await ground.service.monitors.get_change(ground.caller, monitor.id, change.id)
    before, after = found[2], found[3]
    assert before is not None
    assert "£89" in before.snapshot.text
    assert after is not None
    assert "£84" in after.snapshot.text
    assert await ground.told() == ["monitor.changed"]
    assert [check.result.value for check in await ground.checks(monitor.id)] == [
        "same",
        "changed",
        "same",
        "first",
    ]
    kept = (await ground.service.monitors.get(ground.caller, monitor.id)).monitor
    assert (kept.changes, kept.failures) == (1, 0)


@pytest.mark.parametrize(
    ("text", "status"), [("<p>Gone</p>", 410), ("", 403), (LOGIN, 401), ("<p>Not found</p>", 404)]
)
async def test_what_stands_in_the_place_of_a_page_is_a_failure_and_no_change(
    ground: MonitorGround, text: str, status: int
) -> None:
    await ground.listen()
    ground.origin.show("<p>Price: £89.00</p>")
    monitor = (await ground.add(fail_after=2)).monitor
    await ground.run_next()
    ground.origin.show(text, status)
    assert (await ground.check(monitor.id))["result"] == "failed"
    assert await ground.told() == []
    for _ in range(2):
        await ground.check(monitor.id)
    assert await ground.told() == ["monitor.failed"]
    failing = (await ground.service.monitors.get(ground.caller, monitor.id)).monitor
    assert failing.failing_since is not None
    ground.origin.show("<p>Price: £89.00</p>")
    assert (await ground.check(monitor.id))["result"] == "same"
    assert await ground.told() == ["monitor.failed", "monitor.recovered"]
    assert await ground.changes(monitor.id) == []


async def test_a_rule_about_the_status_watches_for_errors(ground: MonitorGround) -> None:
    ground.origin.show("<p>Up</p>")
    monitor = (await ground.add(rules=(StatusRule(), TextRule()))).monitor
    await ground.run_next()
    ground.origin.show("<p>Down</p>", 410)
    assert (await ground.check(monitor.id))["result"] == "changed"
    assert (await ground.check(monitor.id))["result"] == "same"
    ground.origin.show("<p>Up again</p>")
    assert (await ground.check(monitor.id))["result"] == "changed"
    kinds = [
        [reason.kind.value for reason in change.verdict.reasons]
        for change in await ground.changes(monitor.id)
    ]
    assert kinds == [
        ["status_changed", "outcome_changed", "text_changed"],
        ["status_changed", "outcome_changed"],
    ]


async def test_rules_about_selectors_fields_and_numbers(ground: MonitorGround) -> None:
    page = "<p class=price>£{}</p><p class=note>{}</p><dl><dt>Fee</dt><dd>{}</dd></dl>"
    ground.origin.show(page.format("25.00", "one", "7"))
    rules = (
        NumberRule(selector=".price", below=20),
        SelectorRule(".note"),
        FieldsRule(fields={"fee": "number"}),
        NumberRule(selector=".price", changes_by_percent=15),
    )
    monitor = (await ground.add(rules=rules)).monitor
    await ground.run_next()
    for price, result in (("22.50", "same"), ("21.00", "changed"), ("19.50", "changed"), ("18.50", "same")):
        ground.origin.show(page.format(price, "one", "7"))
        assert (await ground.check(monitor.id))["result"] == result, price
    ground.origin.show(page.format("18.50", "two", "8"))
    await ground.check(monitor.id)
    found = [
        [(reason.kind.value, reason.rule, reason.old, reason.new) for reason in change.verdict.reasons]
        for change in reversed(await ground.changes(monitor.id))
    ]
    assert found == [
        [("number_changed", 3, 25.0, 21.0)],  # a slow drift adds up
        [("number_below", 0, 21.0, 19.5)],
        [("text_changed", 1, "one", "two"), ("field_changed", 2, 7, 8)],
    ]


async def test_a_second_look_confirms_a_change(ground: MonitorGround) -> None:
    ground.origin.show("<p>Price: £89.00</p>")
    monitor = (await ground.add(confirm_after=1)).monitor
    await ground.run_next()
    ground.origin.show("<p>Price: £1.00</p>")

    async def mend(_: float) -> None:
        ground.origin.show("<p>Price: £89.00</p>")

    force_setattr(ground.service.monitor_checker, "sleep", mend)
    assert (await ground.check(monitor.id))["result"] == "unconfirmed"
    assert await ground.changes(monitor.id) == []


async def test_each_page_of_a_list_is_compared_with_itself(ground: MonitorGround) -> None:
    ground.origin.show("<p>Same</p>")
    ground.origin.pages["/b"] = ground.origin.content.replace("Same", "First")
    watch = MonitoredList((ground.origin.url + "a", ground.origin.url + "b"))
    monitor = (await ground.add(watch=watch)).monitor
    assert (await ground.run_next())["pages"] == 2
    ground.origin.pages["/b"] = ground.origin.content.replace("Same", "Second")
    assert (await ground.check(monitor.id))["changes"] == 1
    assert [change.url for change in await ground.changes(monitor.id)] == [ground.origin.url + "b"]


async def test_results_of_a_search_appear(ground: MonitorGround) -> None:
    monitor = (await ground.add(watch=MonitoredSearch(query="pack"))).monitor
    assert (await ground.run_next())["result"] == "first"
    assert (await ground.check(monitor.id))["result"] == "same"
    found = IndexedDocument(
        url="https://shop.example/pack",
        title="A pack",
        description="",
        text="a pack for long walks",
        language="en",
        seen_at=time.time(),
    )
    ground.service.index.note(ground.caller.tenant_id, found)
    await ground.service.index.flush()
    assert (await ground.check(monitor.id))["changes"] == 1
    (change,) = await ground.changes(monitor.id)
    assert change.verdict.reasons[0].new == "A pack (https://shop.example/pack)"
    assert (await ground.check(monitor.id))["result"] == "same"


async def test_pages_of_a_crawl_appear_change_and_disappear(ground: MonitorGround) -> None:
    ground.origin.show("<p>Home</p><a href=/a>A</a> <a href=/b>B</a>")
    ground.origin.pages |= {f"/{name}": BODY.format(f"<p>First {name}</p>{FILLER}") for name in "abc"}
    ground.origin.pages["/robots.txt"] = ""
    spec = CrawlSpec(seeds=(ground.origin.url,), refresh="auto", sitemaps=False)
    crawl = await ground.service.seeder.start(ground.caller, spec, BY)
    await ground.crawl_until_done(crawl.id)
    monitor = (await ground.add(watch=MonitoredCrawl(crawl.id))).monitor
    first = await ground.run_next()
    assert (first["result"], first["pages"]) == ("first", 3)
    assert (await ground.check(monitor.id))["result"] == "same"
    ground.origin.show("<p>Home</p><a href=/a>A</a> <a href=/b>B</a> <a href=/c>C</a>")
    ground.origin.pages["/a"] = BODY.format(f"<p>Second a</p>{FILLER}")
    refreshed = await ground.service.crawls.get(crawl.id)
    assert refreshed is not None
    await ground.service.crawl_refresher.refresh(refreshed, ground.caller, BY)
    await ground.crawl_until_done(crawl.id)
    await ground.check(monitor.id)
    told = {
        change.url.removeprefix(ground.origin.url): [reason.kind.value for reason in change.verdict.reasons]
        for change in await ground.changes(monitor.id)
    }
    assert told.keys() >= {"a", "c"}
    assert (told["a"], told["c"]) == (["text_changed"], ["page_appeared"])
    assert "b" not in told
    assert (await ground.check(monitor.id))["result"] == "same"


async def test_muted_and_snoozed_monitors_record_and_tell_nobody(ground: MonitorGround) -> None:
    await ground.listen()
    ground.origin.show("<p>One</p>")
    monitor = (await ground.add()).monitor
    await ground.run_next()
    flow = ground.service.monitors
    await flow.snooze(ground.caller, monitor.id, 3600, BY)
    ground.origin.show("<p>Two</p>")
    await ground.check(monitor.id)
    await flow.snooze(ground.caller, monitor.id, 0, BY)
    await flow.change(ground.caller, monitor.id, MonitorChange(muted=True), BY)
    ground.origin.show("<p>Three</p>")
    await ground.check(monitor.id)
    assert [change.told for change in await ground.changes(monitor.id)] == [False, False]
    await flow.change(ground.caller, monitor.id, MonitorChange(muted=False), BY)
    ground.origin.show("<p>Four</p>")
    await ground.check(monitor.id)
    assert await ground.told() == ["monitor.changed"]
    assert await flow.acknowledge(ground.caller, monitor.id, None) == 3


async def test_another_spec_begins_with_a_first_look(ground: MonitorGround) -> None:
    ground.origin.show("<p class=a>One</p><p class=b>Two</p>")
    monitor = (await ground.add(rules=(SelectorRule(".a"),))).monitor
    await ground.run_next()
    change = MonitorChange(rules=(SelectorRule(".b"),), name="b", timing=Timing(every="2h"))
    kept = await ground.service.monitors.change(ground.caller, monitor.id, change, BY)
    assert kept.schedule is not None
    assert (kept.monitor.name, kept.monitor.edition, kept.schedule.timing.every) == ("b", 2, "2h")
    ground.origin.show("<p class=a>One</p><p class=b>Three</p>")
    assert (await ground.run_next())["changes"] == 0


async def test_a_check_of_an_older_spec_writes_nothing(ground: MonitorGround) -> None:
    ground.origin.show("<p>One</p>")
    monitor = (await ground.add()).monitor
    store = ground.service.monitors.store
    pack = store.pack

    async def change_meanwhile(*given: object) -> object:
        await ground.service.monitors.change(ground.caller, monitor.id, MonitorChange(fail_after=9), BY)
        return await pack(*given)  # type: ignore[arg-type]

    force_setattr(ground.service.monitor_checker, "store", _Hooked(store, change_meanwhile))
    await ground.run_next()
    assert await store.current(monitor.id) == {}
    assert await ground.checks(monitor.id) == []


class _Hooked:
    """A store that does something else before it packs."""

    def __init__(self, store: object, pack: object) -> None:
        self._store = store
        self.pack = pack

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


async def test_headers_are_sealed_sent_and_not_shown(ground: MonitorGround) -> None:
    ground.origin.show("<p>One</p>")
    look = LookOptions(headers={"authorization": "Bearer secret-one"})
    monitor = (await ground.add(look=look)).monitor
    await ground.run_next()
    assert "Bearer secret-one" in ground.origin.seen[-1]
    assert monitor.spec.look.headers == {}
    assert monitor.headers_sealed is not None
    assert b"secret-one" not in monitor.headers_sealed
    await ground.service.monitors.change(ground.caller, monitor.id, MonitorChange(name="x"), BY)
    await ground.check(monitor.id)
    assert "Bearer secret-one" in ground.origin.seen[-1]


async def test_large_pages_are_blobs_that_go_with_the_monitor(ground: MonitorGround) -> None:
    words = " ".join(f"word{number * 7919 % 100003}" for number in range(20_000))
    ground.origin.show(f"<p>{words}</p>")
    monitor = (await ground.add()).monitor
    await ground.run_next()
    (held,) = (await ground.service.monitors.store.current(monitor.id)).values()
    assert "word7919" in held.snapshot.text
    assert len([name async for name in ground.service.blobs.listing(snapshots.FOLDER)]) == 1
    await ground.service.monitors.remove(ground.caller, monitor.id, BY)
    assert [name async for name in ground.service.blobs.listing(snapshots.FOLDER)] == []
    async with ground.service.database.read() as connection:
        for table in ("monitors", "monitor_snapshots", "monitor_changes", "monitor_checks", "schedules"):
            assert await connection.scalar(select(func.count()).select_from(metadata.tables[table])) == 0


async def test_history_is_bounded_and_its_snapshots_go_with_it(
    ground: MonitorGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.state.monitors.changes.MAX_CHANGES", 2)
    monkeypatch.setattr("gossamer.state.monitors.changes.MAX_CHECKS", 3)
    ground.origin.show("<p>Number 0</p>")
    monitor = (await ground.add()).monitor
    await ground.run_next()
    for number in range(1, 6):
        ground.origin.show(f"<p>Price £{number}</p>")
        await ground.check(monitor.id)
    assert len(await ground.changes(monitor.id)) == 2
    assert len(await ground.checks(monitor.id)) == 3
    flow = ground.service.monitors
    assert len(await flow.list_snapshots(ground.caller, monitor.id, before=None, limit=50)) == 3


async def test_old_changes_go_by_retention(ground: MonitorGround) -> None:
    ground.origin.show("<p>One</p>")
    monitor = (await ground.add()).monitor
    await ground.run_next()
    ground.origin.show("<p>Two</p>")
    await ground.check(monitor.id)
    removed = await ground.service.retention.enforce(now=int(4e12))
    assert removed["changes"] == 3  # a change, and two checks
    assert await ground.changes(monitor.id) == []
    assert await ground.checks(monitor.id) == []
    listed = await ground.service.monitors.list_snapshots(ground.caller, monitor.id, before=None, limit=9)
    assert [one.is_current for one in listed] == [True]


async def test_a_monitor_owns_its_schedule_which_queues_checks(ground: MonitorGround) -> None:
    ground.origin.show("<p>One</p>")
    kept = await ground.add(timing=Timing(every="1h"))
    await ground.run_next()
    assert kept.schedule is not None
    assert kept.schedule.kind is ScheduleKind.MONITOR
    later = (kept.schedule.next_at or 0) + 1
    assert await ground.service.scheduler.fire_due(now=later) == 1
    assert (await ground.run_next())["result"] == "same"


async def test_a_check_that_runs_is_not_queued_twice(ground: MonitorGround) -> None:
    ground.origin.show("<p>One</p>")
    monitor = (await ground.add()).monitor
    flow = ground.service.monitors
    first = await flow.check_now(ground.caller, monitor.id, BY)
    assert (await flow.check_now(ground.caller, monitor.id, BY)).job_id == first.job_id


async def test_others_see_nothing_of_a_monitor(ground: MonitorGround) -> None:
    ground.origin.show("<p>One</p>")
    monitor = (await ground.add()).monitor
    flow = ground.service.monitors
    stranger = Caller(Role.USER, "other", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D", Tier.PRO, via=Via.KEY)
    assert await flow.list_monitors(stranger, before=None, limit=9) == []
    for attempt in (
        flow.get(stranger, monitor.id),
        flow.remove(stranger, monitor.id, BY),
        flow.check_now(stranger, monitor.id, BY),
        flow.list_changes(stranger, monitor.id, before=None, limit=9),
        flow.snooze(stranger, monitor.id, 5, BY),
    ):
        with pytest.raises(Problem, match="There is no monitor"):
            await attempt


async def test_a_quota_bounds_the_monitors_of_a_tenant(ground: MonitorGround) -> None:
    ground.origin.show("<p>One</p>")
    limit = ground.service.quotas.table
    for _ in range(3):
        await ground.add()
    async with ground.service.database.read() as connection:
        assert await monitors.count(connection, ground.caller.tenant_id) == 3
        assert await schedules.count(connection, ground.caller.tenant_id) == 0  # counted as monitors
    from gossamer.flows.tenants.quotas import Quota
    from gossamer.settings.values import PerTier

    limit[Quota.MONITORS] = PerTier(1, 3, None)  # type: ignore[index]
    with pytest.raises(Problem, match="3 monitors are allowed"):
        await ground.add()


async def test_a_tenant_goes_with_its_monitors(ground: MonitorGround) -> None:
    ground.origin.show("<p>One</p>")
    await ground.add()
    await ground.run_next()

    async def quietly(_: str, __: int) -> None:
        """Nobody looks."""

    deletion = Deletion(DeletionKind.TENANT, ground.caller.tenant_id)
    await ground.service.deleter.delete_here(deletion, BY, quietly)
    async with ground.service.database.read() as connection:
        for table in ("monitors", "monitor_snapshots", "monitor_changes", "monitor_checks"):
            assert await connection.scalar(select(func.count()).select_from(metadata.tables[table])) == 0
