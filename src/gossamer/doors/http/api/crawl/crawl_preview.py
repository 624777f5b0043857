"""The preview of a crawl over HTTP."""

from typing import Annotated

from msgspec import Meta, Struct

from gossamer import problems
from gossamer.doors.http.api.crawl.crawl_shapes import MAX_BODY
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.crawl.managing.preview import (
    MAX_LINKS,
    MAX_SEEDS,
    CrawlPreviewer,
    PreviewLink,
    SeedPreview,
)
from gossamer.flows.crawl.seeds import Seeder
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.scope import OutOfScope
from gossamer.web.crawl.spec import NewCrawl


class CrawlPreview(Struct, rename="camel"):
    """What a crawl would do with its first pages."""

    seeds: Annotated[list[SeedPreview], Meta(description="The first three.")]


class CrawlPreviewEndpoints(Struct, frozen=True):
    previewer: CrawlPreviewer
    seeder: Seeder

    async def preview_crawl(self, exchange: Exchange, body: NewCrawl) -> CrawlPreview:
        spec = body.spec
        self.seeder.check(exchange.caller, spec)
        return CrawlPreview(await self.previewer.preview(spec))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/api/crawls/preview",
                handler=self.preview_crawl,
                needs=Role.USER,
                tag="Crawls",
                summary="Show what a crawl would do, before it is started",
                description=f"Takes the same body as `POST /api/crawls`, and fetches the first {MAX_SEEDS} "
                "seeds, each once and without a browser, if their robots.txt allows it. Of each it shows up "
                f"to {MAX_LINKS} links, and which of them the crawl would follow. Nothing is stored. What is "
                "wrong with a seed is its `error`.",
                max_body_bytes=MAX_BODY,
                problems=(problems.FORBIDDEN,),
                example_body=NewCrawl(seeds=("https://example.com/",), max_pages=500),
                example=CrawlPreview(
                    [
                        SeedPreview(
                            url="https://example.com/",
                            robots="allowed",
                            status_code=200,
                            title="Example Domain",
                            links=[
                                PreviewLink("https://example.com/about", True),
                                PreviewLink("https://example.org/", False, OutOfScope.OTHER_HOST),
                            ],
                            links_found=2,
                            links_included=1,
                        )
                    ]
                ),
            )
        ]
