"""Secrets that all processes share and that outlive them."""

import secrets

from sqlalchemy import select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import insert_into
from gossamer.state.pay.pay_tables import server_secrets


async def ensure_secret(connection: AsyncConnection, name: str) -> bytes:
    """The secret of this name, made by whoever needs it first."""
    new = insert_into(connection, server_secrets).values(name=name, secret=secrets.token_hex(32))
    await connection.execute(new.on_conflict_do_nothing(index_elements=["name"]))
    found = await connection.scalar(select(server_secrets.c.secret).where(server_secrets.c.name == name))
    return bytes.fromhex(str(found))
