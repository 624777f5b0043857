"""llms.txt and llms-full.txt of a crawled site, over HTTP."""

from typing import Any, Final

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import MAX_STREAM_SECONDS
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import Streaming
from gossamer.flows.crawl.reading.crawl_guide import MAX_LISTED, CrawlGuides
from gossamer.problems import Problem
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.tenants.tenants import Role
from gossamer.web.markdown.llms import GuidePage, full_part, guide
from gossamer.web.url.url import Url

MARKDOWN: Final = "text/markdown"
_EXAMPLE: Final = GuidePage(Url.parse("https://example.com/"), "Example Domain", "For use in examples.")


class CrawlGuideEndpoints(Struct, frozen=True):
    crawls: Crawls
    guides: CrawlGuides

    async def get_llms(self, exchange: Exchange, id: str) -> Response:
        crawl = await self._find(exchange, id)
        return Response(await self.guides.write(crawl), media_type=MARKDOWN)

    async def get_llms_full(self, exchange: Exchange, id: str) -> Response:
        crawl = await self._find(exchange, id)
        return Streaming(self.guides.write_full(crawl), media_type=MARKDOWN)

    async def _find(self, exchange: Exchange, id: str) -> Crawl:
        crawl = await crawl_of(self.crawls, exchange, id)
        if not crawl.is_over:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "The crawl is not finished; a guide to a part of the site would mislead.",
                hint="Wait for its `finishedAt`, or stop it.",
            )
        return crawl

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {
            "method": "GET",
            "needs": Role.USER,
            "tag": "Crawls",
            "parameters": {"id": "The crawl's id."},
            "media_type": MARKDOWN,
            "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
        }
        return [
            Route(
                path="/api/crawls/{id}/llms.txt",
                handler=self.get_llms,
                summary="Get an llms.txt of the crawled site",
                description="For a finished crawl: title, summary and links with descriptions, by the format "
                f"of llmstxt.org, up to {MAX_LISTED:,} pages. Publish it at `/llms.txt` of the site.",
                example=guide("Example Domain", "For use in examples.", [_EXAMPLE]),
                **common,
            ),
            Route(
                path="/api/crawls/{id}/llms-full.txt",
                handler=self.get_llms_full,
                summary="Get an llms-full.txt of the crawled site",
                description="The same pages with their text, as markdown, up to 50 million characters. It is "
                "streamed.",
                deadline=MAX_STREAM_SECONDS + 30,
                example=full_part(_EXAMPLE, "This domain is for use in examples."),
                **common,
            ),
        ]
