"""Webhooks as Firecrawl's users ask for them, and as receivers that were written for Firecrawl read them."""

import hashlib
import hmac
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.doors.http.api.crawl.crawl_page_lines import to_api
from gossamer.doors.http.api.crawl.crawl_pages import PageQuery
from gossamer.doors.http.dropin.firecrawl.job_id import JobId, Wish
from gossamer.doors.http.dropin.firecrawl.jobs import BatchJobs, CrawlJobs
from gossamer.flows.batch.batch_line import MAX_LINE_BYTES
from gossamer.flows.crawl.reading.results import CrawlResults, PageWithContent
from gossamer.problems import validation_error
from gossamer.state.jobs.batches import BatchLines
from gossamer.state.webhooks.deliveries import WebhookDelivery
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.web.webhooks.webhook import LongWork, StoredEvent, WorkEvent

SHAPE: Final = "firecrawl"
SIGNATURE: Final = "X-Firecrawl-Signature"
_KINDS: Final = {LongWork.CRAWL: "crawl", LongWork.BATCH: "batch_scrape"}
_CANCELED: Final = "The job was cancelled."
_event: Final = msgspec.json.Decoder(StoredEvent)


def webhook_wish(asked: Any, wishes: Wish) -> dict[str, Any] | None:
    """The webhook for our own API: clients give an address alone, or with options."""
    if not asked:
        return None
    given = {"url": asked} if isinstance(asked, str) else asked
    if not isinstance(given, dict) or not isinstance(given.get("url"), str):
        raise validation_error("`webhook` is neither an address nor an object with `url`.")
    known = {name: given[name] for name in ("url", "headers", "metadata") if given.get(name) is not None}
    return {**known, "events": _events(given.get("events")), "shape": f"{SHAPE}-{wishes:02x}"}


def _events(asked: Any) -> list[str]:
    """Firecrawl has no event for a job that was cancelled: its receivers hear that it failed."""
    if not asked:
        return []
    return [*asked, WorkEvent.CANCELED.value] if WorkEvent.FAILED.value in asked else list(asked)


class FirecrawlEvents(Struct, frozen=True):
    """Writes events with the documents that they are about."""

    results: CrawlResults
    lines: BatchLines
    crawls: CrawlJobs
    batches: BatchJobs

    async def encode(self, delivery: WebhookDelivery, to: WebhookEndpoint) -> str | None:
        event = _event.decode(delivery.body)
        kind = LongWork(delivery.event.partition(".")[0])
        job = JobId.parse(f"{to.work_id}{to.shape.removeprefix(SHAPE)}")
        find = self._crawled if kind is LongWork.CRAWL else self._listed
        found = [await find(job, page.id) for page in event.pages]
        documents = [one for one in found if one is not None]
        if event.event is WorkEvent.PAGE and not documents:
            return None  # a redirect, or a page without an answer
        failed = event.event in (WorkEvent.FAILED, WorkEvent.CANCELED)
        name = WorkEvent.FAILED if failed else event.event
        told: dict[str, Any] = {
            "success": not failed,
            "type": f"{_KINDS[kind]}.{name.value}",
            "id": str(job),
            "webhookId": delivery.id,
            "data": documents,
            "metadata": to.metadata,
        }
        if failed:
            told["error"] = event.error or _CANCELED
        return msgspec.json.encode(told).decode()

    def sign(self, secret: str, body: str) -> Mapping[str, str]:
        digest = hmac.digest(secret.encode(), body.encode(), hashlib.sha256)
        return {SIGNATURE: f"sha256={digest.hex()}"}

    async def _crawled(self, job: JobId, page_id: str) -> dict[str, Any] | None:
        row = await self.results.get(job.ours, page_id)
        if row is None:
            return None
        query = PageQuery(
            formats=",".join([*job.formats, "metadata"]), main_content=Wish.FULL_PAGE not in job.wishes
        )
        async with aclosing(self.results.read([PageWithContent(row)], query.wanted)) as reading:
            async for stored in reading:
                line = msgspec.to_builtins(to_api(stored, query.format_names))
                return self.crawls.document_of(line, job)
        return None

    async def _listed(self, job: JobId, page_id: str) -> dict[str, Any] | None:
        at = int(page_id)
        found = await self.lines.read(job.ours, at, before=at + 1, limit=1, most_bytes=MAX_LINE_BYTES)
        lines = [msgspec.json.decode(line.text) for line in found.lines]
        return self.batches.document_of(lines[0], job) if lines else None
