"""What was acknowledged is there in the end, exactly once. Nothing is believed: the API is asked for each
thing, and plain queries count them.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx
from sqlalchemy import text

from gossamer.state.db.database import Database, open_database
from tests.crawl.web import Web
from tests.doors.services import AS_ADMIN
from tests.soak.installation import Installation
from tests.soak.traffic import Acknowledged, Place

LOOK_SECONDS: Final = 0.25
OVER: Final = ("done", "failed", "canceled")
COUNTS: Final = {
    "audit": "SELECT count(*) FROM jobs WHERE kind = 'audit'",
    "batch": "SELECT count(*) FROM jobs WHERE kind = 'batch'",
    "crawl": "SELECT count(*) FROM crawls WHERE name <> 'default' AND id IN (SELECT crawl_id FROM frontier)",
    "new key": "SELECT count(*) FROM api_keys WHERE role = 'user'",
}
LAPSES: Final = (
    "UPDATE jobs SET locked_until = 1 WHERE status = 'running' AND locked_by LIKE :name",
    "UPDATE hosts SET locked_until = 1, due_at = 1 WHERE locked_by LIKE :name",
)


class Promises:
    def __init__(self, installation: Installation, promised: Acknowledged, web: Web) -> None:
        self.complaints: list[str] = []
        self._on = installation
        self._promised = promised
        self._web = web
        self._client = httpx.AsyncClient(
            base_url=installation.servers[0].url, headers=AS_ADMIN, timeout=60, trust_env=False
        )

    async def judge(self, patience: float, *, lapse: bool) -> None:
        """`lapse`: the leases of processes that were killed need not be waited for."""
        async with self._client, looking_into(self._on.database_url) as database:
            if lapse:
                await self._lapse(database)
            until = time.monotonic() + patience
            await self._settle((f"/api/jobs/{job}" for job in self._promised.jobs), until)
            await self._settle((f"/api/crawls/{crawl}" for crawl in self._promised.crawls), until)
            for check in (self._audits, self._renders, self._batches, self._crawls, self._keys):
                await check()
            await self._count(database)

    async def _lapse(self, database: Database) -> None:
        async with database.write() as connection:
            for name in (name for process in self._on.processes for name in process.dead):
                for statement in LAPSES:
                    await connection.execute(text(statement), {"name": f"{name}%"})

    async def _settle(self, paths: Iterable[str], until: float) -> None:
        """Each is over, and well."""
        for path in paths:
            while (told := await self._get(path))["status"] not in OVER and time.monotonic() < until:
                await asyncio.sleep(LOOK_SECONDS)
            if told["status"] != "done":
                self.complaints.append(
                    f"{path} is {told['status']}: {told.get('error') or told.get('counts')}"
                )

    async def _audits(self) -> None:
        for audit, place in self._promised.audits.items():
            told = await self._get(f"/audits/{audit}")
            if (told["url"], told["status"]) != (place.url, "done") or told["score"] is None:
                self.complaints.append(f"audit {audit} of {place.url} is {told['url']}, {told['status']}")

    async def _renders(self) -> None:
        for place in self._promised.renders.values():
            answer = await self._client.post("/api/render", json={"url": place.url})
            wrong = place.wrong_render(answer) if answer.status_code == 200 else "it is not there"
            if wrong:
                self.complaints.append(f"render of {place.url}: {wrong}: {answer.status_code}")

    async def _batches(self) -> None:
        for batch, places in self._promised.batches.items():
            results = (await self._get(f"/batch/fetch/{batch}/results?limit=100"))["results"]
            wrong = [
                place.url for place, result in zip(places, results, strict=False) if _differs(place, result)
            ]
            if wrong or len(results) != len(places):
                self.complaints.append(f"batch {batch}: {len(results)} of {len(places)}, wrong: {wrong}")

    async def _crawls(self) -> None:
        for crawl, host in self._promised.crawls.items():
            pages = (await self._get(f"/api/crawls/{crawl}/pages?limit=1000"))["pages"]
            stored = Counter((page["url"], page["title"]) for page in pages)
            expected = [Place.of(self._web, host, page) for page in range(self._web.pages)]
            if stored != Counter((place.url, place.title) for place in expected):
                self.complaints.append(f"crawl {crawl} of host {host}: {len(pages)} pages of {len(expected)}")

    async def _keys(self) -> None:
        for key, secret in self._promised.keys.items():
            told = await self._get("/api/me", {"Authorization": f"Bearer {secret}"})
            if told.get("keyId") != key:
                self.complaints.append(f"key {key} is {told}")

    async def _count(self, database: Database) -> None:
        """No more of them than were acknowledged, beside those that nobody knows of."""
        known = self._promised
        acknowledged = {
            "audit": len(known.audits),
            "batch": len(known.batches),
            "crawl": len(known.crawls),
            "new key": len(known.keys),
        }
        async with database.read() as connection:
            for kind, query in COUNTS.items():
                there = await connection.scalar(text(query)) or 0
                least, unknown = acknowledged[kind], known.unknown.count(kind)
                if not least <= there <= least + unknown:
                    self.complaints.append(f"{there} of {kind}, where {least} were acknowledged")

    async def _get(self, path: str, headers: Mapping[str, str] | None = None) -> Any:
        answer = await self._client.get(path, headers=headers)
        if answer.status_code != 200:
            self.complaints.append(f"{path} is {answer.status_code}")
            return {"status": f"lost ({answer.status_code})"}
        return answer.json()


def _differs(place: Place, result: Any) -> bool:
    return result["url"] != place.url or place.wrong_read(result.get("result") or {}) is not None


@asynccontextmanager
async def looking_into(url: str) -> AsyncIterator[Database]:
    database = open_database(url)
    try:
        yield database
    finally:
        await database.close()
