"""`gossamer audit URL --max-pages N`: a whole site, crawled and audited without a server."""

import asyncio

import msgspec
from ulid import ULID

from gossamer.doors.cli import House
from gossamer.flows import site_audit, upkeep
from gossamer.flows.audit import Options, Step
from gossamer.flows.keys import FIRST_EMAIL
from gossamer.state import audits, tenants
from gossamer.state.audits import Audit
from gossamer.web.site_audit import SiteReport
from gossamer.web.site_comparison import Comparison
from gossamer.web.url import Url


async def audited(
    house: House, target: Url, options: Options, step: Step
) -> tuple[SiteReport, Comparison | None]:
    """Kept like those of a server, so that the next one can be compared with it."""
    await house.database.migrate()
    begun = await _begun(house, target, options, step)
    try:
        report = await _crawled(house, begun.crawl_id or "", options, step)
    finally:
        await upkeep.settle_crawled(house.indexing, house.log)
    async with house.database.write() as connection:
        await audits.complete(connection, begun.id, report.score, msgspec.json.encode(report).decode())
    return report, await _compared(house, begun)


async def _begun(house: House, target: Url, options: Options, step: Step) -> Audit:
    """Audits of the command line belong to whom the machine belongs to, and are nobody's job."""
    await step("fetching the start page", 1)
    seed = await house.site_auditor.seed(target, options)
    audit_id = str(ULID())
    async with house.database.write() as connection:
        owner = await tenants.ensure_tenant(connection, FIRST_EMAIL)
        crawl_id = await house.site_auditor.begin(connection, owner.id, seed, options)
        await audits.add(
            connection,
            audit_id,
            tenant_id=owner.id,
            job_id=audit_id,
            url=target.href,
            options_json=msgspec.json.encode(options).decode(),
        )
        await audits.begin_crawl(connection, audit_id, crawl_id)
        begun = await audits.get(connection, audit_id)
    assert begun is not None  # noqa: S101  (it was added in this transaction)
    return begun


async def _crawled(house: House, crawl_id: str, options: Options, step: Step) -> SiteReport:
    """The crawl is ours alone: it ends with us."""
    stop = asyncio.Event()
    crawling = asyncio.create_task(house.crawling().run(stop))
    try:
        return await house.site_auditor.audit(
            crawl_id, options, _watching(crawling, step), is_canceled=crawling.done
        )
    finally:
        stop.set()
        await asyncio.shield(house.crawls.cancel(crawl_id))
        await crawling


def _watching(crawling: asyncio.Task[None], step: Step) -> Step:
    async def told(name: str, percent: int) -> None:
        if crawling.done():
            crawling.result()  # it does not end by itself
        await step(name, percent)

    return told


async def _compared(house: House, begun: Audit) -> Comparison | None:
    async with house.database.read() as connection:
        done = await audits.get(connection, begun.id)
        other = await audits.before(connection, begun)
    if done is None or other is None:
        return None
    found = site_audit.compared(done, other)
    return None if found is None else found.comparison
