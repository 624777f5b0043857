"""What an account has left, in Firecrawl's terms. "No limit" is a large number: clients refuse null."""

from typing import Any, Final

from gossamer.doors.http.core.relay import RelayedApi

NO_LIMIT: Final = 1_000_000_000
_SHOWN_CRAWLS: Final = 100


async def credits_left(api: RelayedApi) -> tuple[int, int]:
    """What is left, and what there is in all: browser visits, the dearest thing that is counted."""
    usage = await api.ask("GET", "/api/usage")
    renders = [one for one in usage.get("limits") or () if one["policy"].startswith("renders")]
    return (int(renders[0]["remaining"]), int(renders[0]["limit"])) if renders else (NO_LIMIT, NO_LIMIT)


async def concurrency(api: RelayedApi) -> tuple[int, int]:
    """Crawls that run, and how many may."""
    usage = await api.ask("GET", "/api/usage")
    bounds = [one["limit"] for one in usage.get("quotas") or () if one["quota"] == "crawls"]
    return len(await running_crawls(api)), int(next(iter(bounds), None) or NO_LIMIT)


async def queue(api: RelayedApi) -> dict[str, int]:
    running, most = await concurrency(api)
    waiting = len((await api.ask("GET", f"/api/jobs?status=queued&limit={_SHOWN_CRAWLS}"))["jobs"])
    active = running + len((await api.ask("GET", f"/api/jobs?status=running&limit={_SHOWN_CRAWLS}"))["jobs"])
    return {
        "jobsInQueue": waiting + active,
        "activeJobsInQueue": active,
        "waitingJobsInQueue": waiting,
        "maxConcurrency": most,
    }


async def running_crawls(api: RelayedApi) -> list[dict[str, Any]]:
    found = await api.ask("GET", f"/api/crawls?status=running&limit={_SHOWN_CRAWLS}")
    crawls: list[dict[str, Any]] = found["crawls"]
    return crawls
