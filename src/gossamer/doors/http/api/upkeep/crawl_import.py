"""Makes a crawl out of a web archive that is uploaded."""

from contextlib import aclosing
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.crawl.crawl_shapes import EXAMPLE_ID
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.data.warc.importer import CrawlImporter
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.crawl_answer import ImportAccepted

UPLOAD_SECONDS: Final = 3600.0


class ImportQuery(msgspec.Struct, forbid_unknown_fields=True):
    """What the crawl is called, and what becomes of a damaged file."""

    name: Annotated[str, Meta(max_length=200, description="A note for people.")] = ""
    partial: Annotated[
        bool,
        Meta(description="Keep the pages before the damage, or as many as there is room for."),
    ] = False


class CrawlImportEndpoints(Struct, frozen=True):
    importer: CrawlImporter
    max_bytes: int

    async def import_crawl(self, exchange: Exchange, query: ImportQuery) -> Response:
        async with aclosing(exchange.body_pieces()) as arriving:
            crawl = await self.importer.start(
                arriving, exchange.caller, exchange.actor, name=query.name, partial=query.partial
            )
        accepted = to_accepted(crawl.id)
        return answer(accepted, 202, {"Location": accepted.crawl_url})

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/api/crawls/import",
                handler=self.import_crawl,
                needs=Role.USER,
                tag="Crawls",
                summary="Make a crawl out of a WARC or WACZ file",
                description="The body is the file: WARC, compressed or not, or WACZ. A job reads it. Its "
                "pages can be read, searched and audited as if they had been crawled; nothing is fetched. "
                "What pages load, such as pictures and scripts, is left out, and of several captures of a "
                "URL the first one is taken. The crawl is `running` until the file is read; it can be "
                "stopped, but not paused. A file that cannot be read to its end leaves nothing behind, and "
                f"the job tells why, unless `partial` is set. At most {self.max_bytes:,} bytes.",
                status=202,
                answers=ImportAccepted,
                idempotent=False,
                max_body_bytes=self.max_bytes,
                deadline=UPLOAD_SECONDS,
                problems=(
                    problems.UNPROCESSABLE_ENTITY,
                    problems.QUOTA_EXCEEDED,
                ),
                example=to_accepted(EXAMPLE_ID),
            ),
        ]


def to_accepted(crawl_id: str) -> ImportAccepted:
    """The job has the id of the crawl."""
    job = f"/api/jobs/{crawl_id}"
    return ImportAccepted(
        crawl_id=crawl_id,
        job_id=crawl_id,
        crawl_url=f"/api/crawls/{crawl_id}",
        status_url=job,
        events_url=f"{job}/events",
    )
