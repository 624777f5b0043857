"""Starters of crawls, batches and audits: the same flows that the API's endpoints use."""

from typing import cast

from msgspec import Struct

from gossamer.flows.audit.audits import Audits, quotas_of
from gossamer.flows.batch.batch_job import QUOTAS, Batches
from gossamer.flows.crawl.seeds import Seeder, seeds_of
from gossamer.flows.schedules.starter import Firing, Start
from gossamer.flows.schedules.task_vault import TaskVault
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.webhooks.subscribing import WebhookSubscriber
from gossamer.state.crawl import crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import audits, job_table
from gossamer.web.schedules.schedule_task import ScheduledAudit, ScheduledBatch, ScheduledCrawl, ScheduledTask
from gossamer.web.webhooks.webhook import LongWork


class CrawlStarter(Struct, frozen=True):
    seeder: Seeder
    subscriber: WebhookSubscriber
    vault: TaskVault

    async def check(self, task: ScheduledTask, caller: Caller) -> None:
        crawl = cast("ScheduledCrawl", task)
        self.seeder.check(caller, crawl.spec)
        seeds_of(crawl.spec, self.seeder.dialer)
        await self.subscriber.prepare(crawl.webhook, caller)

    async def prepare(self, firing: Firing) -> Start:
        task = cast("ScheduledCrawl", await self.vault.open(firing.schedule))
        spec, caller = task.spec, firing.caller
        prepared = await self.seeder.prepare(caller, spec)
        webhook = await self.subscriber.prepare(task.webhook, caller)

        async def start(connection: AsyncConnection) -> str:
            name = task.name or firing.schedule.name
            crawl = await self.seeder.begin(connection, caller, prepared, firing.by, name=name)
            await self.subscriber.subscribe(connection, webhook, LongWork.CRAWL, crawl.id, crawl.tenant_id)
            return crawl.id

        return start

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        """One that is paused is not over."""
        crawl = await crawls.get(connection, work_id)
        return crawl is not None and crawl.state in ("running", "paused")


class BatchStarter(Struct, frozen=True):
    batches: Batches
    subscriber: WebhookSubscriber
    vault: TaskVault

    async def check(self, task: ScheduledTask, caller: Caller) -> None:
        batch = cast("ScheduledBatch", task)
        await self.batches.check(batch.options())
        await self.subscriber.prepare(batch.webhook, caller)

    async def prepare(self, firing: Firing) -> Start:
        task = cast("ScheduledBatch", await self.vault.open(firing.schedule))
        options, caller = task.options(), firing.caller
        await self.batches.check(options)
        await self.batches.quotas.check(caller, *QUOTAS)
        webhook = await self.subscriber.prepare(task.webhook, caller)

        async def start(connection: AsyncConnection) -> str:
            batch = await self.batches.begin(connection, task, options, caller, firing.by)
            work = (LongWork.BATCH, batch.job_id, batch.tenant_id)
            await self.subscriber.subscribe(connection, webhook, *work)
            return batch.job_id

        return start

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        job = await job_table.get(connection, work_id)
        return job is not None and not job.status.is_over


class AuditStarter(Struct, frozen=True):
    audits: Audits
    vault: TaskVault

    async def check(self, task: ScheduledTask, caller: Caller) -> None:
        audit = cast("ScheduledAudit", task)
        self.audits.check(audit.url, audit.options)

    async def prepare(self, firing: Firing) -> Start:
        task = cast("ScheduledAudit", await self.vault.open(firing.schedule))
        target = self.audits.check(task.url, task.options)
        await self.audits.quotas.check(firing.caller, *quotas_of(task.options))

        async def start(connection: AsyncConnection) -> str:
            _, audit_id = await self.audits.begin(
                connection, target, task.options, caller=firing.caller, by=firing.by
            )
            return audit_id

        return start

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        job_id = await audits.job_id_of(connection, work_id)
        job = None if job_id is None else await job_table.get(connection, job_id)
        return job is not None and not job.status.is_over
