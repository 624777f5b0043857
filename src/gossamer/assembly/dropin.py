"""The doors for clients of other products, as the settings open them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from gossamer.doors.http.core.relay import Relay
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dropin.browserless.cloudflare import CloudflareDoor
from gossamer.doors.http.dropin.browserless.door import BrowserlessDoor
from gossamer.doors.http.dropin.crawl4ai.door import Crawl4aiDoor
from gossamer.doors.http.dropin.firecrawl.door import FirecrawlDoor
from gossamer.doors.http.dropin.firecrawl.jobs import BatchJobs, CrawlJobs
from gossamer.doors.http.dropin.firecrawl.starts import JobStarts
from gossamer.doors.http.dropin.firecrawl.webhooks import FirecrawlEvents
from gossamer.doors.http.dropin.jina.door import JinaDoor
from gossamer.doors.http.dropin.prerender.door import prerender_routes
from gossamer.doors.http.dropin.tavily.door import TavilyDoor
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.settings.settings import Settings
from gossamer.state.jobs.batches import BatchLines

if TYPE_CHECKING:
    from gossamer.app import Service

Door = Callable[["Service", Relay], list[Route]]


def _firecrawl(service: "Service", relay: Relay) -> list[Route]:
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


def _firecrawl_jobs(settings: Settings) -> tuple[CrawlJobs, BatchJobs]:
    crawls = CrawlJobs(settings.public_url, settings.keep_bodies)
    return crawls, BatchJobs(settings.public_url, settings.keep_jobs)


def firecrawl_events(settings: Settings, results: CrawlResults, lines: BatchLines) -> FirecrawlEvents:
    return FirecrawlEvents(results, lines, *_firecrawl_jobs(settings))


def _prerender(service: "Service", relay: Relay) -> list[Route]:
    settings = service.settings
    return prerender_routes(relay, settings.prerender_seconds, settings.prerender_host)


def _browserless(_service: "Service", relay: Relay) -> list[Route]:
    return [*BrowserlessDoor(relay).routes(), *CloudflareDoor(relay).routes()]


DOORS: Final[Mapping[str, Door]] = {  # by the name that `drop_in` gives them
    "firecrawl": _firecrawl,
    "prerender": _prerender,
    "browserless": _browserless,
    "jina": lambda _service, relay: JinaDoor(relay).routes(),
    "crawl4ai": lambda _service, relay: Crawl4aiDoor(relay).routes(),
    "tavily": lambda _service, relay: TavilyDoor(relay).routes(),
}


def dropin_routes(service: "Service", relay: Relay) -> list[Route]:
    opened = (door for name, door in DOORS.items() if name in service.settings.drop_in)
    return [route for door in opened for route in door(service, relay)]
