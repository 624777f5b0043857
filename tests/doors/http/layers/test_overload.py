"""Overload is not an outage: what takes long is refused early, and everything else goes on."""

import asyncio
import io
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.doors.fetches import say
from tests.doors.http.api.audit.test_audits import ARTICLE, OPEN, ask, over, working
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.endless import endless_searches
from tests.site.server import Site

from gossamer.doors.http.layers.request_log import RequestLog
from gossamer.doors.http.layers.shedding import Shedding
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.state.db.database import SCANS
from gossamer.state.tenants.tenants import Role

EVERY_SECONDS = 0.02  # a search arrives, whatever becomes of those before
AUDITS = 6


@pytest.fixture
async def visit(database_url: str, visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(database_url=database_url, **OPEN) as opened:
        yield opened


@asynccontextmanager
async def searching(visit: Visit) -> AsyncIterator[list[httpx.Response]]:
    """Searches that find no end arrive until the end of the block; how each was answered."""
    answers: list[httpx.Response] = []
    under_way: set[asyncio.Task[None]] = set()

    async def search(number: int) -> None:
        body = {"query": f"rope {number}"}
        answers.append(await visit.client.post("/search", json=body, headers=AS_ADMIN, timeout=60))

    async def arrive() -> None:
        for number in range(1_000_000):
            under_way.add(task := asyncio.create_task(search(number)))
            task.add_done_callback(under_way.discard)
            await asyncio.sleep(EVERY_SECONDS)

    with endless_searches():
        arriving = asyncio.create_task(arrive())
        try:
            await asyncio.sleep(20 * EVERY_SECONDS)
            yield answers
        finally:
            arriving.cancel()
            await asyncio.gather(arriving, *under_way, return_exceptions=True)


async def test_searches_that_take_long_keep_nothing_else_from_being_done(visit: Visit, site: Site) -> None:
    keys = [await visit.key(Role.USER) for _ in range(5)]
    target = site.origins(1)[0]
    statuses: Counter[int] = Counter()
    async with searching(visit) as answers, working(visit):
        jobs = [await ask(visit, target + ARTICLE + f"?{number}") for number in range(AUDITS)]
        for number, key in enumerate(keys):
            me = await visit.client.get("/api/me", headers=bearer(key))
            page = {"url": target + say(f"<title>{number}</title><p>Some words.")}
            fetched = await visit.client.post("/fetch", json=page, headers=bearer(key))
            job = await visit.client.get(f"/api/jobs/{jobs[number]['jobId']}", headers=AS_ADMIN)
            statuses.update((me.status_code, fetched.status_code, job.status_code))
        ended = [await over(visit, job["jobId"]) for job in jobs]
    assert statuses == {200: 15}
    assert [job["status"] for job in ended] == ["done"] * AUDITS
    assert {job["attempt"] for job in ended} == {1}
    assert answers
    for answer in answers:
        document = assert_problem(answer, "SERVER_BUSY")
        assert document["retryAfter"] == int(answer.headers["retry-after"])
    assert (await visit.client.get("/health")).json()["services"]["search"]["status"] == "healthy"
    assert (await visit.client.post("/search", json={"query": "rope"}, headers=AS_ADMIN)).status_code == 200


async def test_lists_and_statistics_are_refused_early_while_all_scans_are_taken(visit: Visit) -> None:
    async with AsyncExitStack() as taken:
        for _ in range(SCANS):
            await taken.enter_async_context(visit.service.database.scan())
        paths = ("/api/jobs", "/api/usage", "/api/crawls")
        answers = [await visit.client.get(path, headers=AS_ADMIN) for path in paths]
    assert_problem(answers[0], "SERVER_BUSY")
    assert_problem(answers[1], "SERVER_BUSY")
    assert answers[2].status_code == 200


async def test_what_is_more_than_can_be_done_is_refused_at_once(visiting: Visiting) -> None:
    async with visiting(max_requests="3") as visit:
        visit.echo.gate.clear()
        body = {"text": "a"}
        waiting = [asyncio.create_task(visit.client.post("/test/echo", json=body)) for _ in range(3)]
        async with asyncio.timeout(60):
            while visit.echo.runs < 3:
                await asyncio.sleep(0)
        refused = await visit.client.post("/test/echo", json=body)
        document = assert_problem(refused, "SERVER_BUSY")
        assert document["retryAfter"] == int(refused.headers["retry-after"]) == 1
        for path in ("/health", "/health/live", "/metrics", "/docs"):
            assert (await visit.client.get(path, headers=AS_ADMIN)).status_code == 200
        visit.echo.gate.set()
        assert {(await one).status_code for one in waiting} == {200}
        assert (await visit.client.post("/test/echo", json=body)).status_code == 200


async def test_a_stream_is_not_in_progress_once_it_has_begun() -> None:
    goes_on, has_begun = asyncio.Event(), asyncio.Event()

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        has_begun.set()
        await goes_on.wait()

    async def send(message: Message) -> None:
        """Nobody listens."""

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    def ask() -> asyncio.Task[None]:
        scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        return asyncio.ensure_future(app(scope, receive, send))

    shedding = Shedding(stream, max_requests=1)
    app = RequestLog(shedding, log=Log(io.StringIO()), metrics=Metrics("0"), max_body=0, https=False)
    first = ask()
    await has_begun.wait()
    second = ask()
    goes_on.set()
    await asyncio.gather(first, second)
