"""Events reach everybody who listens, and nobody else; every way in which a job ends is told, once."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.crawl.crawl_ground import Ground, done, urls
from tests.contract.webhooks.office import (
    NOW,
    PUBLIC_URL,
    SECRET,
    Office,
    assert_signed,
    deliver_all,
    register,
)
from tests.servers.receiver import Receiver

from gossamer.state.db.database import Database
from gossamer.state.jobs.job import JobError, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.state.webhooks import endpoints, publishing
from gossamer.state.webhooks.publishing import WebhookEvent, publish
from gossamer.state.webhooks.webhook_tables import (
    ended_work,
    webhook_deliveries,
    webhook_endpoints,
    webhook_subscriptions,
)
from gossamer.web.webhooks.event_type import EventType


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


@pytest.fixture
async def jobs(database: Database) -> AsyncIterator[Jobs]:
    jobs = Jobs(database, open_wakeups(database))
    yield jobs
    await jobs.close()


async def tell(office: Office, *events: WebhookEvent) -> int:
    async with office.database.write() as connection:
        return await publish(connection, *events, now=NOW)


def changed(ground: Ground, **fields: str) -> WebhookEvent:
    data = {"url": "https://a.example/"}
    return WebhookEvent(
        type=EventType.MONITOR_CHANGED, tenant_id=ground.tenant, subject="it", data=data, **fields
    )


async def test_an_event_is_told_as_it_was_published(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    await register(office, ground.tenant, receiver.url)
    assert await tell(office, changed(ground)) == 1
    await deliver_all(office)
    (body,) = receiver.bodies
    assert (body["type"], body["data"]) == ("monitor.changed", {"url": "https://a.example/"})
    assert_signed(receiver, SECRET)


@pytest.mark.parametrize(
    ("patterns", "hears"),
    [
        (("*",), True),
        (("monitor.*",), True),
        (("job.failed", "monitor.changed"), True),
        (("monitor.failed",), False),
        (("job.*",), False),
    ],
)
async def test_only_chosen_types_are_told(
    office: Office, ground: Ground, patterns: tuple[str, ...], hears: bool
) -> None:
    await register(office, ground.tenant, "http://127.0.0.1:9/", *patterns)
    assert await tell(office, changed(ground)) == int(hears)


async def test_nobody_hears_of_what_is_not_his(office: Office, ground: Ground) -> None:
    await register(office, ground.tenant, "http://127.0.0.1:9/", owner=f"{ground.tenant}:a-wallet")
    await register(office, ground.tenant, "http://127.0.0.1:9/", work_id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D")
    await register(office, ground.tenant, "http://127.0.0.1:9/", disabled_at=NOW)
    disabled = (await ground.rows(webhook_endpoints))[-1].id
    async with office.database.write() as connection:
        await endpoints.change(connection, disabled, {"disabled_at": NOW})
    assert await tell(office, changed(ground)) == 0
    assert await tell(office, changed(ground, owner=f"{ground.tenant}:a-wallet")) == 1


async def test_operators_alone_hear_of_the_server(office: Office, ground: Ground) -> None:
    await register(office, ground.tenant, "http://127.0.0.1:9/")
    alert = WebhookEvent(type=EventType.ALERT_RAISED, subject="it", data={})
    assert await tell(office, alert) == 0
    await register(office, ground.tenant, "http://127.0.0.1:9/", for_operators=True)
    assert await tell(office, alert) == 1


async def test_an_event_with_a_key_is_queued_once(office: Office, ground: Ground) -> None:
    await register(office, ground.tenant, "http://127.0.0.1:9/")
    await tell(office, changed(ground, key="it:1"))
    await tell(office, changed(ground, key="it:1"), changed(ground, key="it:2"))
    assert len(await ground.rows(webhook_deliveries)) == 2


async def end(jobs: Jobs, ground: Ground, how: str, kind: str = "render") -> str:
    new = NewJob(kind=kind, tenant_id=ground.tenant, max_attempts=1, payload={"audit_id": "the-audit"})
    await jobs.put(new, now=NOW)
    if how == "canceled before":
        await jobs.cancel(new.job_id, now=NOW)
        return new.job_id
    (lease,) = await jobs.lease({kind: 1}, worker="w", now=NOW, seconds=10)
    if how == "done":
        await jobs.finish(lease, {}, now=NOW)
    elif how == "failed":
        await jobs.fail(lease, JobError(code="INTERNAL_ERROR", detail="It broke."), now=NOW)
    elif how == "finishing":
        async with jobs.finishing(lease, {}, now=NOW):
            pass
    elif how == "canceled while running":
        await jobs.cancel(new.job_id, now=NOW)
        await jobs.release(lease, now=NOW)
    else:
        await jobs.lease({kind: 1}, worker="another", now=NOW + 10_000)
    return new.job_id


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("done", "job.completed"),
        ("finishing", "job.completed"),
        ("failed", "job.failed"),
        ("its worker died", "job.failed"),
        ("canceled before", "job.canceled"),
        ("canceled while running", "job.canceled"),
    ],
)
async def test_every_way_in_which_a_job_ends_is_told_once(
    office: Office, ground: Ground, jobs: Jobs, receiver: Receiver, how: str, told: str
) -> None:
    await register(office, ground.tenant, receiver.url)
    job_id = await end(jobs, ground, how)
    await deliver_all(office, now=NOW + 10_000)
    assert receiver.types == [told]
    data = receiver.bodies[0]["data"]
    assert (data["id"], data["statusUrl"]) == (job_id, f"{PUBLIC_URL}/api/jobs/{job_id}")
    assert await ground.rows(ended_work) == []


async def test_an_audit_is_told_by_its_own_name_and_id(
    office: Office, ground: Ground, jobs: Jobs, receiver: Receiver
) -> None:
    await register(office, ground.tenant, receiver.url, "audit.*")
    await end(jobs, ground, "done", "site_audit")
    await end(jobs, ground, "done")
    await deliver_all(office)
    assert receiver.types == ["audit.completed"]
    assert receiver.bodies[0]["data"]["statusUrl"] == f"{PUBLIC_URL}/audits/the-audit"


async def test_nothing_is_written_when_nobody_listens(office: Office, ground: Ground, jobs: Jobs) -> None:
    off = await register(office, ground.tenant, "http://127.0.0.1:9/")
    async with office.database.write() as connection:
        await endpoints.change(connection, off.id, {"disabled_at": NOW})
    for how in ("done", "its worker died", "canceled before"):
        await end(jobs, ground, how)
    assert await ground.rows(ended_work) == []


async def test_a_tenant_hears_of_all_its_crawls_with_their_pages(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    await register(office, ground.tenant, receiver.url)
    await ground.crawl(urls("a:80", 2), now=NOW)
    (lease,) = await ground.lease(now=NOW)
    tasks = await ground.frontier.take(lease, 500, now=NOW)
    assert await ground.frontier.settle(lease, done(tasks), now=NOW)
    await ground.hosts.release(lease, now=NOW)
    await ground.crawls.finish(now=NOW)
    await deliver_all(office)
    assert receiver.types == ["crawl.started", "crawl.page", "crawl.completed"]
    assert len(receiver.bodies[1]["data"]["pages"]) == 2


async def test_what_an_older_server_subscribed_goes_on(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    """It may have been left by a server during an upgrade, or come from a backup."""
    crawl = await ground.crawl(urls("a:80", 1), now=NOW)
    async with office.database.write() as connection:
        await connection.execute(
            webhook_subscriptions.insert().values(
                work_id=crawl.id,
                tenant_id=ground.tenant,
                kind="crawl",
                owner=ground.tenant,
                url=receiver.url,
                events="canceled,started",
                shape="gossamer",
                metadata_json='{"order":"7"}',
                created_at=NOW,
            )
        )
        assert await endpoints.adopt(connection) == 1
        assert await endpoints.adopt(connection) == 0
    await deliver_all(office)
    assert await publishing_left(office) == 0
    await ground.crawls.cancel(crawl.id, now=NOW)
    await deliver_all(office)
    assert receiver.types == ["crawl.canceled"]
    assert receiver.bodies[0]["data"]["metadata"] == {"order": "7"}
    assert_signed(receiver, await office.keys.secret_of(ground.tenant))


async def publishing_left(office: Office) -> int:
    async with office.database.read() as connection:
        return int(await publishing.is_any_ended(connection))
