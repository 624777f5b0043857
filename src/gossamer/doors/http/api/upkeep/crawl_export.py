"""A crawl as a file of a web archive, over HTTP."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import MAX_STREAM_SECONDS
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import Streaming
from gossamer.flows.data.warc import wacz_file
from gossamer.flows.data.warc.exporter import CrawlExporter
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.graph.graph_answer import ExportFormat
from gossamer.web.documents.warc import warc_stream

_TYPES: Final[dict[ExportFormat, str]] = {"warc": warc_stream.MEDIA_TYPE, "wacz": wacz_file.MEDIA_TYPE}
_ENDINGS: Final[dict[ExportFormat, str]] = {"warc": "warc.gz", "wacz": "wacz"}


class CrawlExportQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which file."""

    format: Annotated[
        ExportFormat, Meta(description="`warc` is compressed by record; `wacz` has an index and pages, too.")
    ] = "wacz"


class CrawlExportEndpoints(Struct, frozen=True):
    crawls: Crawls
    exporter: CrawlExporter

    async def export_crawl(self, exchange: Exchange, id: str, query: CrawlExportQuery) -> Response:
        crawl = await crawl_of(self.crawls, exchange, id)
        name = f"crawl-{crawl.id.lower()}.{_ENDINGS[query.format]}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        pieces = self.exporter.write(crawl, query.format)
        return Streaming(pieces, headers=headers, media_type=_TYPES[query.format])

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/crawls/{id}/export",
                handler=self.export_crawl,
                needs=Role.USER,
                tag="Crawls",
                summary="Download a crawl as a web archive",
                description="A WARC 1.1 file with a request and a response for every page, and revisits for "
                "bodies that were there before; or a WACZ 1.1.1 file, which ReplayWeb.page and other tools "
                "open. Bodies are decoded. Values of cookies, and of headers that the crawl was told to "
                "send, are left out. It is streamed, and has the pages that are stored when it begins.",
                parameters={"id": "The crawl's id."},
                opened_by_order=True,
                media_type=_TYPES["wacz"],
                also={_TYPES["warc"]: None},
                problems=(problems.NOT_FOUND,),
                deadline=MAX_STREAM_SECONDS + 30,
            ),
        ]
