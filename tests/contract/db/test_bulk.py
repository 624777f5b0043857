"""Statements that work on many rows at once find the same on either database."""

from gossamer.state.db.bulk import bulk, for_each
from gossamer.state.db.database import Database

ADD = bulk(
    "INSERT INTO tenants SELECT id, email, '', created_at FROM {given}",
    rows={"id": "text", "email": "text", "created_at": "bigint"},
)
NEWEST = for_each(
    "SELECT email FROM tenants WHERE email LIKE {domain} AND created_at <= {now} "
    "ORDER BY created_at DESC LIMIT {most}",
    rows={"domain": "text", "most": "int"},
)


async def test_each_row_finds_its_own_in_order_and_within_its_limit(database: Database) -> None:
    made = [(f"{number:026}", f"{number}@{'ab'[number % 2]}.example", number) for number in range(40)]
    asked = [("%@a.example", 3), ("%@nowhere.example", 3), ("%@b.example", 2), ("%@a.example", 1)]
    async with database.write() as connection:
        await ADD(connection, None, made)
        found = await NEWEST(connection, 31, asked)
        assert await NEWEST(connection, 31, []) == []
    assert [[row.email.partition("@")[0] for row in rows] for rows in found] == [
        ["30", "28", "26"],
        [],
        ["31", "29"],
        ["30"],
    ]
