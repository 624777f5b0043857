"""A service with monitors, a page that changes when it is told to, and somebody who listens."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import select
from tests.doors.services import open_service

from gossamer.app import Service
from gossamer.doors.worker.work import Work
from gossamer.flows.monitors.monitor_check import KIND, MonitorPayload
from gossamer.flows.monitors.monitors import KeptMonitor
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.keys import NewKey
from gossamer.observe.logs import Log
from gossamer.state.jobs.job import success
from gossamer.state.monitors.changes import StoredChange, StoredCheck
from gossamer.state.tenants.activity import Actor, Via
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.state.webhooks import endpoints
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.state.webhooks.webhook_tables import webhook_deliveries
from gossamer.web.monitors.monitor_request import NewMonitor
from gossamer.web.monitors.monitor_spec import MonitoredPage

BY = Actor("test")
SECONDS = 60.0
BODY = "<html><head><title>Shop</title></head><body><main><h1>Pack</h1>{}</main></body></html>"
FILLER = "".join(
    f"<p>Sentence number {n} tells something about the pack that stays the same.</p>" for n in range(9)
)


@dataclass
class ChangingOrigin:
    """Answers every path with what it was last told."""

    url: str = ""
    status: int = 200
    content: str = ""
    pages: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def show(self, text: str, status: int = 200) -> None:
        self.status = status
        self.content = BODY.format(f"{text}{FILLER}")

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ", 2)[1]
        self.seen.append(head)
        body = self.pages.get(path, self.content).encode()
        writer.write(
            f"HTTP/1.1 {self.status} X\r\ncontent-type: text/html; charset=utf-8\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ChangingOrigin"]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with server:
            yield self


@dataclass
class MonitorGround:
    service: Service
    origin: ChangingOrigin
    caller: Caller

    async def add(self, *, watch: Any = None, **options: Any) -> KeptMonitor:
        body = NewMonitor(watch=watch or MonitoredPage(self.origin.url), **options)

        async def forget(*_: Any) -> None:
            """Nobody repeats this request."""

        return await self.service.monitors.create(self.caller, body, BY, forget)

    async def check(self, monitor_id: str) -> dict[str, Any]:
        """Run the check that is queued, or another one; returns its result."""
        await self.service.monitors.check_now(self.caller, monitor_id, BY)
        return await self.run_next()

    async def run_next(self) -> dict[str, Any]:
        jobs = self.service.jobs
        (lease,) = await jobs.lease({KIND: 1}, worker="test", seconds=60)
        work = Work(jobs, lease, msgspec.json.decode(lease.job.payload_json, type=MonitorPayload))
        await self.service.monitor_checker.run(work)
        if not work.finished:
            await jobs.settle([success(lease, None)])
        job = await jobs.get(lease.job_id)
        assert job is not None
        result: dict[str, Any] = msgspec.json.decode(job.result_json or "{}")
        return result

    async def crawl_until_done(self, crawl_id: str) -> None:
        stop = asyncio.Event()
        crawling = asyncio.create_task(self.service.crawl_worker().run(stop))
        try:
            async with asyncio.timeout(SECONDS):
                while (crawl := await self.service.crawls.get(crawl_id)) is None or crawl.state != "done":
                    await asyncio.sleep(0.02)
        finally:
            stop.set()
            await crawling

    async def changes(self, monitor_id: str) -> list[StoredChange]:
        return await self.service.monitors.list_changes(self.caller, monitor_id, before=None, limit=50)

    async def checks(self, monitor_id: str) -> list[StoredCheck]:
        return await self.service.monitors.list_checks(self.caller, monitor_id, before=None, limit=50)

    async def listen(self) -> None:
        endpoint = WebhookEndpoint(
            id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D",
            tenant_id=self.caller.tenant_id,
            owner=self.caller.tenant_id,
            url="https://listener.example/",
            events=("monitor.*",),
        )
        async with self.service.database.write() as connection:
            await endpoints.add(connection, endpoint)

    async def told(self) -> list[str]:
        async with self.service.database.read() as connection:
            rows = await connection.execute(
                select(webhook_deliveries.c.event).order_by(webhook_deliveries.c.id)
            )
            return [row.event for row in rows]


@asynccontextmanager
async def open_ground(database_url: str, folder: Path) -> AsyncIterator[MonitorGround]:
    log = Log(io.StringIO())
    flags = {
        "database_url": database_url,
        "data_dir": str(folder),
        "egress_allow": "127.0.0.0/8",
        "egress_ports": "*",
        "crawl_delay": "0",
    }
    async with ChangingOrigin().running() as origin, open_service(log, **flags) as service:
        issued = await service.keys.create(NewKey(email="a@example.com", role="user", tier=Tier.PRO), BY)
        key = issued.key
        caller = Caller(Role.USER, key.id, key.tenant_id, Tier.PRO, via=Via.KEY)
        yield MonitorGround(service, origin, caller)
