"""What robots see of sites, as it was found. Of each site the newest few are kept."""

from typing import Final, NamedTuple

import msgspec
from sqlalchemy import delete, select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.sites.site_tables import site_comparisons, sites
from gossamer.web.sites.site_comparison import MAX_KEPT, SiteComparison

_rows: Final = site_comparisons.c
_result: Final = msgspec.json.Decoder(SiteComparison)


class StoredComparison(NamedTuple):
    id: str
    made_at: int
    result: SiteComparison


async def add(
    connection: AsyncConnection,
    comparison_id: str,
    site_id: str,
    tenant: str,
    result: SiteComparison,
    *,
    now: int | None = None,
) -> None:
    """The oldest goes, and nothing is kept of a site that is not registered any more."""
    known = select(sites.c.id).where(sites.c.id == site_id).with_for_update()
    if await connection.scalar(known) is None:
        return
    values = {
        "id": comparison_id,
        "site_id": site_id,
        "tenant_id": tenant,
        "made_at": clock(now),
        "result_json": msgspec.json.encode(result).decode(),
    }
    await connection.execute(insert_into(connection, site_comparisons).values(values))
    newest = select(_rows.id).where(_rows.site_id == site_id).order_by(_rows.id.desc()).limit(MAX_KEPT)
    ids = (await connection.scalars(newest)).all()
    await connection.execute(delete(site_comparisons).where(_rows.site_id == site_id, _rows.id.not_in(ids)))


async def list_kept(connection: AsyncConnection, site_id: str) -> list[StoredComparison]:
    """The newest first."""
    query = select(_rows.id, _rows.made_at, _rows.result_json).where(_rows.site_id == site_id)
    found = await connection.execute(query.order_by(_rows.id.desc()).limit(MAX_KEPT))
    return [StoredComparison(row.id, row.made_at, _result.decode(row.result_json)) for row in found]
