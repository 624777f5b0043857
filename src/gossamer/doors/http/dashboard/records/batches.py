"""The pages of batches: the list, starting one, and one batch with its results."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, get_args

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import to_api
from gossamer.doors.http.api.admin.jobs import MAX_STREAM_SECONDS, JobQuery, JobsEndpoints
from gossamer.doors.http.api.pages.batch import BatchEndpoints, BatchPage, BatchQuery
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.records.jobs import elapsed_ms
from gossamer.flows.batch.batch_job import KIND
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.batches import Batch
from gossamer.web.pages.batch_request import MAX_URLS, BatchRequest
from gossamer.web.pages.batch_result import BatchResult
from gossamer.web.pages.page_request import Format

HERE: Final = "/app/batches"
RESULTS_SHOWN: Final = 25  # on one page; each may be a large text
FORMATS: Final[dict[Format, str]] = {
    "markdown": "Markdown",
    "metadata": "Metadata",
    "llm": "Text for a language model",
    "text": "Plain text",
    "html": "Clean HTML",
    "rawHtml": "HTML as it came",
    "images": "Images",
    "links": "Links",
}
assert set(FORMATS) == set(get_args(Format))  # noqa: S101  (each format has a name)
_TYPED: Final = ("tier", "timeout", "maxTokens", "waitForSelector")  # fields that are options by their name


class CursorQuery(msgspec.Struct):
    """Which part of a list to show."""

    cursor: str = ""


class BatchPages(Struct, frozen=True):
    dashboard: Dashboard
    batches: BatchEndpoints
    jobs: JobsEndpoints
    clock: Callable[[], float] = time.time

    async def show_list(
        self, exchange: Exchange, query: CursorQuery | None = None, form: Form = NO_FORM
    ) -> Response:
        cursor = query.cursor if query is not None else ""
        found = await self.jobs.list_jobs(exchange, JobQuery(kind=KIND, cursor=cursor or None))
        return self.dashboard.render(
            exchange,
            "records/batches.html",
            here="batches",
            form=form,
            found=found,
            formats=FORMATS,
            chosen=form.lines("formats") if form.values else ["markdown", "metadata"],
            most=MAX_URLS,
            **list_links(HERE, filters(query or CursorQuery()), found.next_cursor),
            took=partial(elapsed_ms, now=self.clock()),
        )

    async def start(self, exchange: Exchange, form: Form) -> Response:
        async def remember(connection: AsyncConnection, batch: Batch) -> None:
            await exchange.remember(connection, self._started(batch))

        request = _request(form)
        batch = await self.batches.batches.create(
            request, request.options(), exchange.caller, exchange.actor, remember
        )
        return self._started(batch)

    def _started(self, batch: Batch) -> Response:
        return self.dashboard.see(f"{HERE}/{batch.job_id}", notice="batch-started")

    async def show(
        self, exchange: Exchange, id: str, query: CursorQuery | None = None, form: Form = NO_FORM
    ) -> Response:
        batch = await self.batches.get_batch(exchange, id)
        typed = query.cursor if query is not None else ""
        first = min(int(typed), MAX_URLS) if typed.isdecimal() and len(typed) < 9 else 0
        listed = await self.batches.list_results(exchange, id, BatchQuery(first, RESULTS_SHOWN))
        results = await asyncio.to_thread(_read_results, listed)
        found = await self.jobs.find_job(exchange, id)
        job = to_api(found)
        following = None if listed.next_cursor is None else str(listed.next_cursor)
        return self.dashboard.render(
            exchange,
            "records/batch.html",
            here="batches",
            form=form,
            batch=batch,
            job=job,
            events_seen=found.event_seq,
            results=results,
            pending=listed.pending,
            took=elapsed_ms(job, self.clock()),
            **list_links(f"{HERE}/{id}", filters(query or CursorQuery()), following),
        )

    async def cancel(self, exchange: Exchange, form: Form, id: str) -> Response:
        batch = await self.batches.get_batch(exchange, id)
        if batch.status.is_over:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                f"The batch is {batch.status.value} already.",
                hint="There is nothing left to cancel.",
            )
        after = await self.jobs.cancel_job(exchange, id)
        notice = "job-canceled" if after.status.is_over else "job-cancel-requested"
        return self.dashboard.see(f"{HERE}/{id}", notice=notice)

    async def ask_to_delete(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        batch = await self.batches.get_batch(exchange, id)
        return self.dashboard.ask_to_delete(
            exchange,
            f"{HERE}/{id}",
            noun="batch",
            subject=f"{batch.total:,} addresses",
            consequence="Its results are deleted. A batch that is running ends.",
            form=form,
        )

    async def delete(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.batches.delete_batch(exchange, id)
        return self.dashboard.see(HERE, notice="batch-deleting")

    async def download(self, exchange: Exchange, id: str) -> Response:
        disposition = f'attachment; filename="batch-{id.lower()}.ndjson"'
        return await self.batches.stream_results(exchange, id, headers={"Content-Disposition": disposition})

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        results: dict[str, Any] = {"deadline": MAX_STREAM_SECONDS + 30}
        return [
            page(HERE, self.show_list, "Batches"),
            form(HERE, self.start, "Start a batch", show=self.show_list, control=False),
            page(f"{HERE}/{{id}}", self.show, "A batch"),
            form(f"{HERE}/{{id}}/cancel", self.cancel, "Cancel a batch", show=self.show),
            page(f"{HERE}/{{id}}/delete", self.ask_to_delete, "Ask before a batch is deleted"),
            form(f"{HERE}/{{id}}/delete", self.delete, "Delete a batch", show=self.ask_to_delete),
            page(f"{HERE}/{{id}}/results.ndjson", self.download, "The results of a batch", **results),
        ]


def _request(form: Form) -> BatchRequest:
    options = Form({name: form[name] for name in _TYPED})
    return options.to(
        BatchRequest,
        urls=form.lines("urls"),
        formats=form.lines("formats"),
        mainContent=form.is_on("mainContent"),
        cache=form.is_on("cache"),
    )


def _read_results(listed: BatchPage) -> list[BatchResult]:
    """Large pages take a while to decode, so call it in a thread."""
    return msgspec.json.decode(msgspec.json.encode(listed.results), type=list[BatchResult])
