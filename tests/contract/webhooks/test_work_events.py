"""Events of crawls and batches: none is lost or told to anybody else, whatever happens in between."""

import dataclasses
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace
from sqlalchemy import select
from tests.contract.crawl.crawl_ground import Ground, done, url, urls
from tests.contract.webhooks.office import NOW, PUBLIC_URL, Office, deliver_all
from tests.servers.receiver import Receiver

from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.removal import deleting
from gossamer.state.db.database import Database
from gossamer.state.jobs import batches, job_table
from gossamer.state.jobs.batches import Batch, BatchTask
from gossamer.state.jobs.job import JobError, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.state.webhooks import deliveries, endpoints, publishing
from gossamer.state.webhooks.deliveries import TAKEN_MS
from gossamer.state.webhooks.endpoints import HEADERS_KEPT_MS, WebhookEndpoint
from gossamer.state.webhooks.webhook_tables import webhook_deliveries as delivery_rows
from gossamer.state.webhooks.webhook_tables import webhook_endpoints
from gossamer.web.webhooks.webhook import LongWork

OWNER = "somebody"
HEADERS = {"Authorization": "Bearer a-secret-of-theirs"}


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


@pytest.fixture
async def jobs(database: Database) -> AsyncIterator[Jobs]:
    jobs = Jobs(database, open_wakeups(database))
    yield jobs
    await jobs.close()


async def subscribe(
    office: Office, ground: Ground, work_id: str, to: str, kind: LongWork = LongWork.CRAWL, **fields: object
) -> None:
    sealed = await office.keys.seal(OWNER, HEADERS)
    made = WebhookEndpoint(
        id=work_id,
        work_id=work_id,
        tenant_id=ground.tenant,
        owner=OWNER,
        url=to,
        events=("*",),
        metadata={"ours": "yes"},
        headers_sealed=sealed,
    )
    async with ground.database.write() as connection:
        bound = dataclasses.replace(made, **fields)  # type: ignore[arg-type]
        await publishing.add_bound(connection, bound, kind, now=NOW)


async def crawl_all(ground: Ground, *, now: int = NOW) -> None:
    """Settle everything that is there to fetch, in one transaction, and end the crawl."""
    (lease,) = await ground.lease(now=now)
    tasks = await ground.frontier.take(lease, 500, now=now)
    assert await ground.frontier.settle(lease, done(tasks), now=now)
    await ground.hosts.release(lease, now=now)
    await ground.crawls.finish(now=now)


async def crawl_of_two(ground: Ground) -> Crawl:
    return await ground.crawl(urls("a:80", 2), now=NOW)


async def test_a_receiver_hears_of_the_start_the_pages_and_the_end(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    crawl = await crawl_of_two(ground)
    await subscribe(office, ground, crawl.id, receiver.url)
    await crawl_all(ground)
    await deliver_all(office)
    assert receiver.types == ["crawl.started", "crawl.page", "crawl.completed"]
    started, page, _ = (body["data"] for body in receiver.bodies)
    here = f"{PUBLIC_URL}/api/crawls/{crawl.id}"
    assert started == {
        "id": crawl.id,
        "statusUrl": here,
        "resultsUrl": f"{here}/pages",
        "metadata": {"ours": "yes"},
    }
    assert sorted(one["url"] for one in page["pages"]) == ["http://a:80/0", "http://a:80/1"]
    first = page["pages"][0]
    assert first["resultUrl"] == f"{here}/pages/{first['id']}"  # no content is kept of it
    assert {headers["authorization"] for headers, _ in receiver.heard} == set(HEADERS.values())
    assert len(set(receiver.ids)) == 3


async def test_an_event_names_few_pages_and_other_products_receivers_get_each_by_itself(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    crawl = await ground.crawl(urls("a:80", 120), now=NOW)
    await subscribe(office, ground, crawl.id, receiver.url, events=("crawl.page",))
    other = await ground.crawl(urls("b:80", 3), now=NOW)
    await subscribe(office, ground, other.id, receiver.url, shape="firecrawl-01")
    for lease in await ground.lease(2, now=NOW):
        tasks = await ground.frontier.take(lease, 500, now=NOW)
        assert await ground.frontier.settle(lease, done(tasks), now=NOW)
    async with ground.database.read() as connection:
        query = select(delivery_rows.c.sender, delivery_rows.c.event).order_by(delivery_rows.c.id)
        queued = [tuple(row) for row in await connection.execute(query)]
    assert [event for sender, event in queued if sender == crawl.id] == ["crawl.page"] * 3
    assert [event for sender, event in queued if sender == other.id] == ["crawl.started"] + ["crawl.page"] * 3


async def test_what_is_not_written_is_not_told_and_what_is_written_is_told_once(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    crawl = await crawl_of_two(ground)
    await subscribe(office, ground, crawl.id, receiver.url, events=("crawl.page",))
    (lease,) = await ground.lease(now=NOW)
    tasks = await ground.frontier.take(lease, 10, now=NOW)
    assert not await ground.frontier.settle(
        dataclasses.replace(lease, token="of another"), done(tasks), now=NOW
    )
    assert await office.webhooks.deliver_due(now=NOW) == 0
    assert await ground.frontier.settle(lease, done(tasks), now=NOW)
    await ground.frontier.settle(lease, done(tasks), now=NOW)  # the answer to the first was lost
    await deliver_all(office)
    assert [len(body["data"]["pages"]) for body in receiver.bodies] == [2]


async def test_a_sender_that_is_killed_loses_nothing_and_the_id_stays(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    crawl = await crawl_of_two(ground)
    await subscribe(office, ground, crawl.id, receiver.url, events=("crawl.completed",))
    await crawl_all(ground)
    async with ground.database.write() as connection:
        assert await publishing.tell_ended(connection, now=NOW) == 1
        assert await publishing.tell_ended(connection, now=NOW) == 0
        (taken,) = await deliveries.take_due(connection, 10, now=NOW)
    await office.webhooks.sender.send(taken)  # it is heard, and then the process is killed
    await deliver_all(office, now=NOW + TAKEN_MS)
    assert receiver.types == ["crawl.completed"] * 2
    assert set(receiver.ids) == {taken.id}


async def test_a_crawl_that_goes_on_ends_again(office: Office, ground: Ground, receiver: Receiver) -> None:
    crawl = await crawl_of_two(ground)
    await subscribe(office, ground, crawl.id, receiver.url)
    await crawl_all(ground)
    await deliver_all(office)
    await ground.frontier.add(crawl.id, [url("c:80", 1)], now=NOW)
    await crawl_all(ground)
    await deliver_all(office)
    assert receiver.types[2:] == ["crawl.completed", "crawl.page", "crawl.completed"]


async def test_a_crawl_that_is_stopped_is_told_as_canceled(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    crawl = await crawl_of_two(ground)
    await subscribe(office, ground, crawl.id, receiver.url)
    await ground.crawls.cancel(crawl.id, now=NOW)
    await deliver_all(office)
    assert receiver.types == ["crawl.started", "crawl.canceled"]


async def test_a_crawl_without_a_webhook_tells_nobody(office: Office, ground: Ground) -> None:
    await crawl_of_two(ground)
    await crawl_all(ground)
    assert await office.webhooks.deliver_due(now=NOW) == 0


@pytest.mark.parametrize(("end", "told"), [("fail", "batch.failed"), ("cancel", "batch.canceled")])
async def test_every_way_in_which_a_batch_ends_is_told(
    office: Office, ground: Ground, jobs: Jobs, receiver: Receiver, end: str, told: str
) -> None:
    new = NewJob(kind="batch", tenant_id=ground.tenant, max_attempts=1)
    async with ground.database.write() as connection:
        await job_table.put(connection, new, now=NOW)
        await batches.add(connection, Batch(new.job_id, ground.tenant, "basic", 1), BatchTask("[]", "{}"))
    await subscribe(office, ground, new.job_id, receiver.url, LongWork.BATCH)
    if end == "cancel":
        await jobs.cancel(new.job_id, now=NOW)
    else:
        (lease,) = await jobs.lease({"batch": 1}, worker="w", now=NOW)
        await jobs.fail(lease, JobError(code="INTERNAL_ERROR", detail="It broke."), now=NOW)
    await deliver_all(office)
    assert receiver.types == ["batch.started", told]
    assert ("It broke." in str(receiver.bodies[1])) == (end == "fail")
    async with ground.database.write() as connection:
        await batches.drop_row(connection, new.job_id)
    assert await ground.rows(webhook_endpoints) == []
    assert await ground.rows(delivery_rows) == []


async def test_what_is_deleted_is_not_told_any_more(office: Office, ground: Ground) -> None:
    crawl = await crawl_of_two(ground)
    await subscribe(office, ground, crawl.id, "http://127.0.0.1:9/")
    async with ground.database.write() as connection:
        await deleting.mark(connection, crawl.id, None, now=NOW)
        await deleting.drop_row(connection, crawl.id)
    assert await office.webhooks.deliver_due(now=NOW) == 0
    assert await ground.rows(webhook_endpoints) == []


async def test_headers_are_sealed_and_forgotten_in_the_end(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    crawl = await crawl_of_two(ground)
    await subscribe(office, ground, crawl.id, receiver.url)
    (row,) = await ground.rows(webhook_endpoints)
    assert b"a-secret-of-theirs" not in row.headers_sealed
    assert "a-secret-of-theirs" not in repr(row)
    await ground.crawls.cancel(crawl.id, now=NOW)
    await deliver_all(office)
    for later, kept in ((HEADERS_KEPT_MS - 1, True), (HEADERS_KEPT_MS, False)):
        async with ground.database.write() as connection:
            await endpoints.forget_headers(connection, now=NOW + later)
        (row,) = await ground.rows(webhook_endpoints)
        assert (row.headers_sealed is not None) is kept


async def test_each_owner_has_a_secret_that_lasts(office: Office) -> None:
    first = await office.keys.secret_of("a")
    again = replace(office.keys, _shared=[])
    assert await again.secret_of("a") == first != await again.secret_of("b")
