"""Endpoint that tells who stores how much, for admins."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.state.crawl.upkeep import storage
from gossamer.state.crawl.upkeep.storage import StorageKind, StorageUse
from gossamer.state.db.database import Database
from gossamer.state.tenants.tenants import Role


class StorageReport(msgspec.Struct, rename="camel"):
    """What is stored, by tenant and kind, the most first."""

    total_bytes: int
    use: Annotated[list[StorageUse], Meta(description="`search` counts characters, all others bytes.")]


class StorageEndpoints(Struct, frozen=True):
    database: Database

    async def measure_storage(self, exchange: Exchange) -> StorageReport:
        async with self.database.scan() as connection:
            use = await storage.measure(connection)
        return StorageReport(sum(each.bytes for each in use), use)

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/admin/storage",
                handler=self.measure_storage,
                needs=Role.ADMIN,
                tag="Operations",
                summary="Tell who stores how much",
                description="It goes through every row. If that takes too long the answer is 503; then use "
                "`gossamer upkeep storage`.",
                problems=(problems.SERVER_BUSY,),
                example=_EXAMPLE,
            )
        ]


_EXAMPLE: Final = StorageReport(
    total_bytes=6_200_000,
    use=[
        StorageUse("01JGGQZ8N1M2P3Q4R5S6T7V8W9", "a@example.com", StorageKind.ARCHIVES, 1, 6_200_000),
    ],
)
