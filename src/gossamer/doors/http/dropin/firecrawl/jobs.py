"""Crawls and batches of ours, as the jobs of Firecrawl's clients."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from gossamer.doors.http.core.relay import RelayedApi
from gossamer.doors.http.dropin.firecrawl.dialect import error_code
from gossamer.doors.http.dropin.firecrawl.documents import UNMET, add_warnings, document
from gossamer.doors.http.dropin.firecrawl.job_id import JobId, Wish
from gossamer.problems import Problem
from gossamer.settings.values import Lifetime
from gossamer.web.pages.timestamps import iso

DOCUMENTS: Final = 100  # in one answer, and fewer if they are large
# While a job runs, clients ask every two seconds and show nothing: they would have us read everything again.
DOCUMENTS_MEANWHILE: Final = 20
MAX_ERRORS: Final = 1_000
_LONG: Final = timedelta(days=3650)  # what clients are told where something is kept forever
_STATUSES: Final = {
    "running": "scraping",
    "paused": "scraping",
    "queued": "scraping",
    "done": "completed",
    "canceled": "cancelled",
    "failed": "failed",
}


class JobProgress(NamedTuple):
    """How far a job is. All numbers are whole: clients refuse others, and null."""

    status: str
    completed: int
    total: int
    expires_at: str
    error: str = ""

    @property
    def is_over(self) -> bool:
        return self.status != "scraping"

    def shown(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "completed": self.completed,
            "total": self.total,
            "creditsUsed": self.completed,
            "expiresAt": self.expires_at,
        }


class DocumentPage(NamedTuple):
    """Some documents of a job, and where the next ones begin."""

    documents: list[dict[str, Any]]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class JobSource(ABC):
    """Where the documents of one kind of job come from."""

    public_url: str
    keep: Lifetime

    @abstractmethod
    async def progress(self, api: RelayedApi, job: JobId) -> JobProgress: ...

    @abstractmethod
    async def documents(
        self, api: RelayedApi, job: JobId, cursor: str | None, limit: int
    ) -> DocumentPage: ...

    @abstractmethod
    def stream_path(self, job: JobId) -> str:
        """Where all lines of the job stream from, until it is over."""

    @abstractmethod
    def document_of(self, line: Mapping[str, Any], job: JobId) -> dict[str, Any] | None:
        """None for a line that is an error, or nothing to show."""

    @abstractmethod
    async def cancel(self, api: RelayedApi, job: JobId) -> str:
        """Its status afterwards."""

    @abstractmethod
    async def errors(self, api: RelayedApi, job: JobId) -> list[dict[str, Any]]: ...

    async def robots_blocked(self, _api: RelayedApi, _job: JobId) -> list[str]:
        return []

    def expiry(self, told: Mapping[str, Any]) -> str:
        since = datetime.fromisoformat(told.get("finishedAt") or told["createdAt"])
        span = _LONG if self.keep.is_forever else timedelta(seconds=self.keep.seconds)
        return iso((since + span).timestamp())


class CrawlJobs(JobSource):
    async def progress(self, api: RelayedApi, job: JobId) -> JobProgress:
        crawl = await api.ask("GET", f"/api/crawls/{job.ours}")
        counts = crawl["counts"]
        status = _STATUSES[crawl["status"]]
        left = counts["pending"] + counts["inProgress"] if status == "scraping" else 0
        total = min(counts["pages"] + left, max(crawl["options"]["maxPages"], counts["pages"]))
        return JobProgress(status, counts["pages"], total, self.expiry(crawl))

    async def documents(self, api: RelayedApi, job: JobId, cursor: str | None, limit: int) -> DocumentPage:
        more = {"cursor": cursor} if cursor else {}
        found = await api.ask("GET", f"{self.stream_path(job)}&{urlencode({'limit': limit, **more})}")
        shown = [self.document_of(page, job) for page in found["pages"]]
        return DocumentPage([one for one in shown if one is not None], found["nextCursor"])

    def stream_path(self, job: JobId) -> str:
        wanted = {"formats": ",".join([*job.formats, "metadata"])}
        if Wish.FULL_PAGE in job.wishes:
            wanted["mainContent"] = "false"
        return f"/api/crawls/{job.ours}/pages?{urlencode(wanted)}"

    def document_of(self, line: Mapping[str, Any], job: JobId) -> dict[str, Any] | None:
        status = line.get("statusCode")
        if line.get("error") or status is None or 300 <= status < 400:  # where a redirect leads is a page too
            return None
        shown = document(line, line["url"])
        if Wish.SCREENSHOT in job.wishes and line.get("screenshotUrl"):
            shown["screenshot"] = f"{self.public_url}{line['screenshotUrl']}"
        if line.get("contentError"):
            add_warnings(shown, [f"The content is missing: {line['contentError']}."])
        return _with_warning(shown, job)

    async def cancel(self, api: RelayedApi, job: JobId) -> str:
        crawl = await api.ask("POST", f"/api/crawls/{job.ours}/stop")
        return _STATUSES[crawl["status"]]

    async def errors(self, api: RelayedApi, job: JobId) -> list[dict[str, Any]]:
        path = f"/api/crawls/{job.ours}/pages?{urlencode({'outcome': 'error', 'limit': MAX_ERRORS})}"
        return [
            _error(page["pageId"], page["url"], page["error"], page["error"], page["crawledAt"])
            for page in (await api.ask("GET", path))["pages"]
            if page["error"]
        ]

    async def robots_blocked(self, api: RelayedApi, job: JobId) -> list[str]:
        """Only admins may look into the frontier; others see an empty list."""
        asked = urlencode({"crawl": job.ours, "status": "blocked", "limit": DOCUMENTS})
        try:
            found = await api.ask("GET", f"/api/frontier/urls?{asked}")
        except Problem as problem:
            if problem.kind.status != 403:
                raise
            return []
        return [str(one["url"]) for one in found["urls"]]


class BatchJobs(JobSource):
    async def progress(self, api: RelayedApi, job: JobId) -> JobProgress:
        batch = await api.ask("GET", f"/batch/fetch/{job.ours}")
        status = _STATUSES[batch["status"]]
        return JobProgress(
            status, batch["done"], batch["total"], self.expiry(batch), batch.get("error") or ""
        )

    async def documents(self, api: RelayedApi, job: JobId, cursor: str | None, limit: int) -> DocumentPage:
        asked = urlencode({"limit": limit, "cursor": cursor or 0})
        found = await api.ask("GET", f"{self.stream_path(job)}?{asked}")
        shown = [self.document_of(line, job) for line in found["results"]]
        following = found["nextCursor"]
        return DocumentPage(
            [one for one in shown if one is not None], None if following is None else str(following)
        )

    def stream_path(self, job: JobId) -> str:
        return f"/batch/fetch/{job.ours}/results"

    def document_of(self, line: Mapping[str, Any], job: JobId) -> dict[str, Any] | None:
        if line["status"] != "done":
            return None
        return _with_warning(document(line["result"], line["url"]), job)

    async def cancel(self, api: RelayedApi, job: JobId) -> str:
        await api.ask("DELETE", f"/api/jobs/{job.ours}")
        status = (await self.progress(api, job)).status
        return "cancelled" if status == "scraping" else status  # it ends at its next step

    async def errors(self, api: RelayedApi, job: JobId) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: int | None = 0
        while cursor is not None:
            path = f"{self.stream_path(job)}?{urlencode({'limit': DOCUMENTS, 'cursor': cursor})}"
            part = await api.ask("GET", path)
            for line in part["results"]:
                problem = line.get("problem")
                if problem:
                    code = error_code(problem["code"], problem.get("reason"))
                    found.append(_error(str(line["index"]), line["url"], problem["message"], code))
            cursor = part["nextCursor"]
        return found


def _with_warning(shown: dict[str, Any], job: JobId) -> dict[str, Any]:
    if Wish.UNMET in job.wishes:
        add_warnings(shown, [UNMET])
    return shown


def _error(id: str, url: str, error: str, code: str, at: str | None = None) -> dict[str, Any]:
    shown = {"id": id, "url": url, "error": error, "code": code}
    return {**shown, "timestamp": at} if at else shown
