"""The doors for clients of other products, as the settings open them. Each is imported when its first client
comes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gossamer.doors.http.core.relay import Relay
from gossamer.doors.http.core.routing import Route, ServedSubject
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.settings.settings import Settings
from gossamer.state.jobs.batches import BatchLines

if TYPE_CHECKING:
    from gossamer.app import Service
    from gossamer.doors.http.dropin.firecrawl.jobs import BatchJobs, CrawlJobs
    from gossamer.doors.http.dropin.firecrawl.webhooks import FirecrawlEvents


class Door(Struct, frozen=True):
    heads: tuple[str, ...]  # what its paths begin with
    build: Callable[["Service", Relay], list[Route]]


def _firecrawl(service: "Service", relay: Relay) -> list[Route]:
    from gossamer.doors.http.dropin.firecrawl.door import FirecrawlDoor
    from gossamer.doors.http.dropin.firecrawl.starts import JobStarts

    settings = service.settings
    door = FirecrawlDoor(
        relay,
        settings.public_url,
        settings.crawl_delay,
        *_firecrawl_jobs(settings),
        JobStarts(service.hot),
        service.stopping,
    )
    return door.routes()


def _firecrawl_jobs(settings: Settings) -> "tuple[CrawlJobs, BatchJobs]":
    from gossamer.doors.http.dropin.firecrawl.jobs import BatchJobs, CrawlJobs

    crawls = CrawlJobs(settings.public_url, settings.keep_bodies)
    return crawls, BatchJobs(settings.public_url, settings.keep_jobs)


def firecrawl_events(settings: Settings, results: CrawlResults, lines: BatchLines) -> "FirecrawlEvents":
    from gossamer.doors.http.dropin.firecrawl.webhooks import FirecrawlEvents

    return FirecrawlEvents(results, lines, *_firecrawl_jobs(settings))


def _prerender(service: "Service", relay: Relay) -> list[Route]:
    from gossamer.doors.http.dropin.prerender.door import PrerenderDoor

    return PrerenderDoor(relay, service.settings.prerender_seconds).routes()


def _browserless(_service: "Service", relay: Relay) -> list[Route]:
    from gossamer.doors.http.dropin.browserless.cloudflare import CloudflareDoor
    from gossamer.doors.http.dropin.browserless.door import BrowserlessDoor

    return [*BrowserlessDoor(relay).routes(), *CloudflareDoor(relay).routes()]


def _jina(_service: "Service", relay: Relay) -> list[Route]:
    from gossamer.doors.http.dropin.jina.door import JinaDoor

    return JinaDoor(relay).routes()


def _crawl4ai(_service: "Service", relay: Relay) -> list[Route]:
    from gossamer.doors.http.dropin.crawl4ai.door import Crawl4aiDoor

    return Crawl4aiDoor(relay).routes()


def _tavily(_service: "Service", relay: Relay) -> list[Route]:
    from gossamer.doors.http.dropin.tavily.door import TavilyDoor

    return TavilyDoor(relay).routes()


DOORS: Final[Mapping[str, Door]] = {  # by the name that `drop_in` gives them
    "firecrawl": Door(("/v1", "/v2", "//v1", "//v2"), _firecrawl),
    "prerender": Door(("/prerender",), _prerender),
    "browserless": Door(("/browserless", "/client/v4"), _browserless),
    "jina": Door(("/r", "/s"), _jina),
    "crawl4ai": Door(("/crawl", "/md", "/html", "/token", "/schema"), _crawl4ai),
    "tavily": Door(("/tavily",), _tavily),
}


def dropin_subjects(service: "Service", relay: Relay) -> list[ServedSubject]:
    opened = (door for name, door in DOORS.items() if name in service.settings.drop_in)
    return [ServedSubject(door.heads, partial(door.build, service, relay)) for door in opened]


def host_routes(service: "Service", relay: Relay) -> list[Route]:
    """Of the host that is for robots alone."""
    settings = service.settings
    if not settings.prerender_host or "prerender" not in settings.drop_in:
        return []
    from gossamer.doors.http.dropin.prerender.door import prerender_host_routes

    return prerender_host_routes(relay, settings.prerender_seconds, settings.prerender_host)
