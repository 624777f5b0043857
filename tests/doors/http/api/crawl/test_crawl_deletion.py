"""DELETE /api/crawls/{id}."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.doors.crawls import OPEN, Web, begin, crawling, get, over, post
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site

from gossamer.state.tenants.tenants import Role


@asynccontextmanager
async def working(visit: Visit) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(visit.service.worker(["delete"]).run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def ended(visit: Visit, job: dict[str, Any]) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = await get(visit, job["statusUrl"])
            if found["finishedAt"]:
                return found
            await asyncio.sleep(0.05)


async def test_a_running_crawl_is_deleted_and_the_others_stay(
    database_url: str, visiting: Visiting, site: Site
) -> None:
    one, other = (Web.on(origin) for origin in site.origins(2))
    async with visiting(database_url=database_url, **OPEN) as visit:
        gone, kept = await begin(visit, one.seed), await begin(visit, other.seed)
        async with crawling(visit):
            await over(visit, kept["crawlId"])
            await over(visit, gone["crawlId"])
        await post(visit, "/api/frontier/seed", {"urls": [f"{one.seed}?x"], "crawl": gone["crawlId"]})
        assert (await get(visit, gone["statusUrl"]))["status"] == "running"
        answer = await visit.client.delete(gone["statusUrl"], headers=AS_ADMIN)
        job = answer.json()
        assert (answer.status_code, job["kind"], answer.headers["location"]) == (
            202,
            "delete",
            job["statusUrl"],
        )
        again = await visit.client.delete(gone["statusUrl"], headers=AS_ADMIN)
        assert again.json()["jobId"] == job["jobId"]
        for path in (gone["statusUrl"], gone["pagesUrl"]):  # at once, before any worker
            assert_problem(await visit.client.get(path, headers=AS_ADMIN), "NOT_FOUND")
        assert [crawl["crawlId"] for crawl in (await get(visit, "/api/crawls"))["crawls"]] == [
            kept["crawlId"]
        ]
        assert {page["crawlId"] for page in (await get(visit, "/api/pages"))["pages"]} == {kept["crawlId"]}
        assert len((await get(visit, "/api/domains"))["domains"]) == 1
        assert (await visit.client.get("/api/stats")).json()["crawls"] == 1
        async with working(visit):
            done = await ended(visit, job)
        assert (done["status"], done["progress"]) == ("done", 100)
        assert done["result"] == {"deleted": "crawl", "id": gone["crawlId"], "pages": 3, "urls": 4}
        assert_problem(await visit.client.delete(gone["statusUrl"], headers=AS_ADMIN), "NOT_FOUND")
        assert len((await get(visit, kept["pagesUrl"], content="text"))["pages"]) == 3
        assert (await get(visit, f"{kept['pagesUrl']}", limit=1))["pages"][0]["contentUrl"]


async def test_the_default_crawl_is_deleted_and_the_next_seed_begins_another(
    visiting: Visiting, site: Site
) -> None:
    web = Web.on(site.origins(1)[0])
    async with visiting(**OPEN) as visit:
        first = (await post(visit, "/api/frontier/seed", {"urls": [web.seed]})).json()["crawlId"]
        answer = await visit.client.delete(f"/api/crawls/{first}", headers=AS_ADMIN)
        assert_problem(await visit.client.get("/api/frontier/stats", headers=AS_ADMIN), "NOT_FOUND")
        refused = await post(visit, "/api/frontier/seed", {"urls": [web.seed], "crawl": first})
        assert_problem(refused, "NOT_FOUND")
        second = (await post(visit, "/api/frontier/seed", {"urls": [web.seed]})).json()
        assert (second["crawlId"] != first, second["added"]) == (True, 1)
        async with working(visit):
            await ended(visit, answer.json())
        assert (await get(visit, "/api/frontier/stats"))["counts"]["pending"] == 1


async def test_a_tenant_deletes_only_its_own_and_admins_any(visiting: Visiting, site: Site) -> None:
    web = Web.on(site.origins(1)[0])
    async with visiting(**{**OPEN, "crawl_delay": "1"}) as visit:
        user = bearer(await visit.key(Role.USER))
        theirs, mine = await begin(visit, web.seed), await begin(visit, web.seed, sent=user)
        assert_problem(await visit.client.delete(theirs["statusUrl"], headers=user), "NOT_FOUND")
        assert_problem(await visit.client.delete(theirs["statusUrl"]), "UNAUTHORIZED")
        assert (await visit.client.delete(mine["statusUrl"], headers=AS_ADMIN)).status_code == 202
        assert_problem(await visit.client.get(mine["statusUrl"], headers=user), "NOT_FOUND")
        (job,) = (await get(visit, "/api/jobs", sent=user, kind="delete"))["jobs"]
        assert job["status"] == "queued"
