"""Makes a crawl out of a web archive that is uploaded."""

import asyncio
import tempfile
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Final

import msgspec
from msgspec import Meta

from gossamer import problems
from gossamer.doors.http.api.crawl.crawl_shapes import EXAMPLE_CRAWL, to_api
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.crawl.export.importer import SECONDS, CrawlImporter, ImportedCrawl
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.crawl_answer import ShownImport

UPLOAD_SECONDS: Final = 900.0
PIECE: Final = 1_000_000  # bytes that are written at a time


class ImportQuery(msgspec.Struct, forbid_unknown_fields=True):
    """What the crawl is called."""

    name: Annotated[str, Meta(max_length=200, description="A note for people.")] = ""


@dataclass(frozen=True, slots=True)
class CrawlImportEndpoints:
    importer: CrawlImporter
    max_bytes: int

    async def import_crawl(self, exchange: Exchange, query: ImportQuery) -> ShownImport:
        with tempfile.NamedTemporaryFile(prefix="gossamer-import-") as file:
            await _receive(exchange, file)
            reading = self.importer.read(Path(file.name), exchange.caller, exchange.actor, query.name)
            return to_answer(await exchange.unless_gone(reading))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/api/crawls/import",
                handler=self.import_crawl,
                needs=Role.USER,
                tag="Crawls",
                summary="Make a crawl out of a WARC or WACZ file",
                description="The body is the file: WARC, compressed or not, or WACZ. Its pages can be read, "
                "searched and audited as if they had been crawled; nothing is fetched. What pages load, such "
                "as pictures and scripts, is left out, and of several captures of a URL the first one is "
                f"taken. At most {self.max_bytes:,} bytes.",
                status=201,
                idempotent=False,
                max_body_bytes=self.max_bytes,
                deadline=UPLOAD_SECONDS + SECONDS + 60,
                problems=(
                    problems.UNPROCESSABLE_ENTITY,
                    problems.QUOTA_EXCEEDED,
                ),
                example=ShownImport(
                    EXAMPLE_CRAWL, pages=204, known=3, refused=0, skipped={"kind": 1200}, reason=None
                ),
            ),
        ]


async def _receive(exchange: Exchange, file: IO[bytes]) -> None:
    waiting = bytearray()
    async with aclosing(exchange.body_pieces()) as pieces:
        async for piece in pieces:
            waiting += piece
            if len(waiting) >= PIECE:
                await asyncio.to_thread(file.write, bytes(waiting))
                waiting.clear()
    file.write(waiting)
    file.flush()


def to_answer(result: ImportedCrawl) -> ShownImport:
    if result.crawl is None:
        raise ValueError("a file without pages is refused")
    return ShownImport(
        to_api(result.crawl), result.pages, result.known, result.refused, result.skipped, result.reason
    )
