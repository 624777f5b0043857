"""The endpoints that Firecrawl's clients call."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

from msgspec import Struct, field
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.relay import Relay, RelayedApi, relaying_route
from gossamer.doors.http.core.routing import Handler, Route
from gossamer.doors.http.core.websocket import OpenSockets, wants_websocket
from gossamer.doors.http.dropin.firecrawl import account, finding
from gossamer.doors.http.dropin.firecrawl.crawl_wishes import CONCURRENCY, crawl_wishes, unmet_in_jobs
from gossamer.doors.http.dropin.firecrawl.dialect import DIALECT, PREFIXES, succeed
from gossamer.doors.http.dropin.firecrawl.job_id import JobId, Wish
from gossamer.doors.http.dropin.firecrawl.job_socket import JobSocket
from gossamer.doors.http.dropin.firecrawl.jobs import (
    DOCUMENTS,
    DOCUMENTS_MEANWHILE,
    BatchJobs,
    CrawlJobs,
    JobSource,
)
from gossamer.doors.http.dropin.firecrawl.page_wishes import PageWishes
from gossamer.doors.http.dropin.firecrawl.requests import (
    BatchBody,
    CrawlBody,
    DocumentsQuery,
    ExtractBody,
    MapBody,
    ScrapeBody,
    SearchBody,
)
from gossamer.doors.http.dropin.firecrawl.scraping import scrape
from gossamer.doors.http.dropin.firecrawl.starts import JobStarts
from gossamer.doors.http.dropin.firecrawl.webhooks import webhook_wish
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.problems import Problem, validation_error
from gossamer.web.url.url import Url

SECONDS: Final = 300.0  # for an answer, as its clients wait for one
SOCKET_SECONDS: Final = 960.0  # for a WebSocket: longer than the stream that it tells of
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class FirecrawlDoor(Struct, frozen=True):
    relay: Relay
    public_url: str
    least_delay: float
    crawls: CrawlJobs
    batches: BatchJobs
    starts: JobStarts
    stopping: Stopping
    sockets: OpenSockets = field(default_factory=OpenSockets)

    # Answered at once.

    async def scrape(self, exchange: Exchange, body: ScrapeBody) -> Response:
        wishes = PageWishes.of(body)
        shown = await exchange.unless_gone(scrape(self.api(exchange), body.url, wishes))
        exchange.repeat_relayed()
        return answer(succeed({"data": shown}))

    async def map_site(self, exchange: Exchange, body: MapBody) -> Response:
        links, warnings = await exchange.unless_gone(finding.map_site(self.api(exchange), body))
        shown: Sequence[Any] = [link["url"] for link in links] if _is_v1(exchange) else links
        return answer(succeed({"links": shown}, warnings))

    async def search(self, exchange: Exchange, body: SearchBody) -> Response:
        results, warnings = await exchange.unless_gone(finding.search(self.api(exchange), body))
        return answer(succeed({"data": results if _is_v1(exchange) else {"web": results}}, warnings))

    async def extract(self, exchange: Exchange, body: ExtractBody) -> Response:
        return answer(await exchange.unless_gone(finding.extract(self.api(exchange), body)))

    # Jobs.

    async def start_crawl(self, exchange: Exchange, body: CrawlBody) -> Response:
        ours, wishes, warnings = crawl_wishes(body, self.least_delay)
        begun = await self._start(exchange, "/api/crawls", ours)
        return self._started(exchange, "crawl", JobId(begun["crawlId"], wishes), warnings)

    async def preview_crawl(self, exchange: Exchange) -> Response:
        raise Problem(problems.NOT_FOUND, "Options of a crawl are not made from a prompt here.")

    async def start_batch(self, exchange: Exchange, body: BatchBody) -> Response:
        if body.append_to_id:
            raise validation_error("`appendToId` is not supported.", hint="Start another batch.")
        valid, invalid = _sort_urls(body.urls)
        if not valid or (invalid and not (body.ignore_invalid_urls is True or not _is_v1(exchange))):
            raise validation_error(f"These are not URLs that can be fetched: {', '.join(invalid)[:500]}.")
        wishes = PageWishes.of(body)
        lacking = unmet_in_jobs(wishes) + (["the format 'screenshot'"] if wishes.screenshot else [])
        warnings = [*wishes.warnings, *([f"Batches do not support {', '.join(lacking)}."] if lacking else [])]
        warned = [*warnings, *([CONCURRENCY] if body.max_concurrency else [])]
        ours = {"urls": valid, **wishes.body(), **wishes.reading}
        ours["tier"] = {"never": "basic", "always": "pro", "auto": "auto"}[ours.pop("render")]
        ours["formats"] = [*dict.fromkeys(wishes.texts), "metadata"]
        wanted = wishes.for_jobs | (Wish.UNMET if warnings else Wish(0))
        ours["webhook"] = webhook_wish(body.webhook, wanted)
        begun = await self._start(exchange, "/batch/fetch", ours)
        job = JobId(begun["batchId"], wanted)
        return self._started(exchange, "batch/scrape", job, warned, invalidURLs=invalid)

    async def list_active(self, exchange: Exchange) -> Response:
        crawls = [
            {"id": str(JobId(crawl["crawlId"])), "teamId": "", "url": next(iter(crawl["seeds"]), "")}
            for crawl in await account.running_crawls(self.api(exchange))
        ]
        return answer(succeed({"crawls": crawls}))

    # The account.

    async def get_credits(self, exchange: Exchange) -> Response:
        left, most = await account.credits_left(self.api(exchange))
        shown = {"remainingCredits": left, "planCredits": most}
        if _is_v1(exchange):
            shown = {"remaining_credits": left, "plan_credits": most}
        return answer(succeed({"data": shown}))

    async def get_tokens(self, exchange: Exchange) -> Response:
        left, most = await account.credits_left(self.api(exchange))
        shown = {"remainingTokens": left, "planTokens": most}
        if _is_v1(exchange):
            shown = {"remaining_tokens": left, "plan_tokens": most}
        return answer(succeed({"data": shown}))

    async def get_history(self, exchange: Exchange) -> Response:
        await account.credits_left(self.api(exchange))  # for those who may see it only
        return answer(succeed({"periods": []}))

    async def check_concurrency(self, exchange: Exchange) -> Response:
        running, most = await account.concurrency(self.api(exchange))
        return answer(succeed({"concurrency": running, "maxConcurrency": most}))

    async def get_queue(self, exchange: Exchange) -> Response:
        return answer(succeed(await account.queue(self.api(exchange))))

    # Together.

    def api(self, exchange: Exchange) -> RelayedApi:
        return self.relay.acting_for(exchange)

    async def _start(self, exchange: Exchange, path: str, body: Any) -> Any:
        once = await self.starts.headers(exchange)
        return await self.api(exchange).ask("POST", path, body, once)

    def _started(
        self, exchange: Exchange, kind: str, job: JobId, warnings: list[str], **more: Any
    ) -> Response:
        version = "v1" if _is_v1(exchange) else "v2"
        url = f"{self.base(exchange)}/{version}/{kind}/{job}"
        return answer(succeed({"id": str(job), "url": url, **more}, warnings))

    def base(self, exchange: Exchange) -> str:
        """Some clients go to addresses as they are given. Where nobody has said how this server is reached,
        it is reached as this request has reached it."""
        host = exchange.header(b"host")
        if urlsplit(self.public_url).hostname in _LOOPBACK and host:
            return f"{exchange.scope['scheme']}://{host}"
        return self.public_url

    def routes(self) -> list[Route]:
        return [route for prefix in PREFIXES for route in self._routes(prefix)]

    def _routes(self, prefix: str) -> list[Route]:
        def route(method: str, path: str, handler: Handler, summary: str, seconds: float = SECONDS) -> Route:
            return relaying_route(DIALECT, method, prefix + path, handler, summary, deadline=seconds)

        found = [
            route("POST", "/scrape", self.scrape, "Scrape a page"),
            route("POST", "/map", self.map_site, "Find the pages of a site"),
            route("POST", "/search", self.search, "Search"),
            route("POST", "/extract", self.extract, "Extract data from pages"),
            route("POST", "/crawl", self.start_crawl, "Start a crawl"),
            route("POST", "/crawl/params-preview", self.preview_crawl, "Not supported"),
            route("GET", "/crawl/active", self.list_active, "List crawls that run"),
            route("POST", "/batch/scrape", self.start_batch, "Start to scrape many pages"),
            route("GET", "/team/credit-usage", self.get_credits, "Show what is left"),
            route("GET", "/team/token-usage", self.get_tokens, "Show what is left"),
            route("GET", "/team/credit-usage/historical", self.get_history, "Show what was used"),
            route("GET", "/team/token-usage/historical", self.get_history, "Show what was used"),
            route("GET", "/team/queue-status", self.get_queue, "Show the queue"),
            route("GET", "/concurrency-check", self.check_concurrency, "Show what runs"),
        ]
        for kind, source in (("crawl", self.crawls), ("batch/scrape", self.batches)):
            one, jobs = f"/{kind}/{{id}}", JobEndpoints(self, source)
            found += [
                route("GET", one, jobs.get_status, "Show or watch a job", SOCKET_SECONDS),
                route("DELETE", one, jobs.cancel, "Cancel a job"),
                route("GET", f"{one}/errors", jobs.get_errors, "Show a job's errors"),
            ]
        return found


class JobEndpoints(Struct, frozen=True):
    """What clients do with a job that has been started."""

    door: FirecrawlDoor
    source: JobSource

    async def get_status(self, exchange: Exchange, id: str, query: DocumentsQuery) -> Response:
        api, job = self.door.api(exchange), JobId.parse(id)
        progress = await self.source.progress(api, job)
        if wants_websocket(exchange):
            watcher = JobSocket(self.source, api, job, progress, self.door.stopping)
            return self.door.sockets.start(exchange, watcher.talk)
        limit = DOCUMENTS if progress.is_over else DOCUMENTS_MEANWHILE
        page = await self.source.documents(api, job, query.cursor, limit)
        shown = {**progress.shown(), "data": page.documents}
        if page.next_cursor is not None and progress.is_over:
            here = self.door.base(exchange) + exchange.path.replace("//", "/")
            shown["next"] = f"{here}?cursor={quote(page.next_cursor)}"
        return answer(succeed(shown))

    async def cancel(self, exchange: Exchange, id: str) -> Response:
        return answer(succeed({"status": await self.source.cancel(self.door.api(exchange), JobId.parse(id))}))

    async def get_errors(self, exchange: Exchange, id: str) -> Response:
        api, job = self.door.api(exchange), JobId.parse(id)
        errors = await self.source.errors(api, job)
        return answer(
            succeed({"errors": errors, "robotsBlocked": await self.source.robots_blocked(api, job)})
        )


def _is_v1(exchange: Exchange) -> bool:
    return exchange.path.lstrip("/").startswith("v1/")


def _sort_urls(urls: list[str]) -> tuple[list[str], list[str]]:
    """Those that are URLs, and those that are not."""
    valid, invalid = [], []
    for url in urls:
        try:
            Url.parse(url)
        except Problem:
            invalid.append(url)
        else:
            valid.append(url)
    return valid, invalid
