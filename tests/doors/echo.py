"""Routes that exist only to show what the layers around them do."""

import asyncio
from typing import Annotated, Any

import msgspec
from sqlalchemy import Column, Integer, MetaData, String, Table, func, insert, select
from sqlalchemy.schema import CreateTable
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.problems import Problem
from gossamer.state.db.database import Database
from gossamer.state.tenants.tenants import Role

metadata = MetaData()
effects = Table(
    "test_effects", metadata, Column("id", Integer, primary_key=True), Column("name", String, nullable=False)
)


class Words(msgspec.Struct, forbid_unknown_fields=True):
    """Something to say back."""

    text: Annotated[str, msgspec.Meta(max_length=1000)]
    times: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1


class Said(msgspec.Struct):
    """What was said back."""

    text: str
    count: int


class Count(msgspec.Struct, forbid_unknown_fields=True):
    """A query."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10)] = 5


class Echo:
    """`runs` counts how often a handler really ran."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.runs = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def prepare(self) -> None:
        async with self._database.write() as connection:
            await connection.execute(CreateTable(effects, if_not_exists=True))

    async def effects(self) -> int:
        async with self._database.read() as connection:
            return await connection.scalar(select(func.count()).select_from(effects)) or 0

    async def echo(self, exchange: Exchange, body: Words) -> Said:
        self.runs += 1
        await self.gate.wait()
        return Said(body.text * body.times, self.runs)

    async def effect(self, exchange: Exchange, body: Words) -> Response:
        """Leaves a row behind, under the guard of the database."""
        self.runs += 1
        async with self._database.write() as connection:
            await connection.execute(insert(effects).values(name=body.text))
            done = answer(Said(body.text, 1), 201)
            await exchange.remember(connection, done)
        return done

    async def fail(self, exchange: Exchange, name: str) -> Said:
        self.runs += 1
        await self.gate.wait()
        if name == "defect":
            raise RuntimeError("api_key=sk_live_0123456789abcdefghijklmnopqrstuv leaked")
        if name == "bare":
            return PlainTextResponse("gone wrong", 404)  # type: ignore[return-value]
        raise Problem(problems.KINDS[name], "It went wrong on purpose.")

    async def reach(self, exchange: Exchange) -> Said:
        """A target that never answers, of which no cache has anything."""
        await exchange.admit_work()
        self.runs += 1
        raise Problem(problems.FETCH_FAILED, "It does not answer.")

    async def _has_nothing(self, exchange: Exchange) -> bool:
        return False

    async def cut(self, exchange: Exchange) -> Response:
        async def chunks() -> Any:
            yield b"first"
            raise RuntimeError("the rest never came")

        return StreamingResponse(chunks())

    async def wait(self, exchange: Exchange) -> Said:
        await asyncio.Event().wait()
        return Said("never", 0)

    async def listing(self, exchange: Exchange, query: Count) -> Said:
        return Said("listed", query.limit)

    async def inside(self, exchange: Exchange) -> Said:
        return Said(exchange.client, 1)

    def routes(self) -> list[Route]:
        nobody: dict[str, Any] = {"needs": Role.NOBODY, "tag": "Test", "summary": "For tests"}
        return [
            Route(method="POST", path="/test/echo", handler=self.echo, **nobody),
            Route(
                method="POST", path="/test/effect", handler=self.effect, status=201, answers=Said, **nobody
            ),
            Route(method="POST", path="/test/fail/{name}", handler=self.fail, **nobody),
            Route(method="POST", path="/test/reach", handler=self.reach, peek=self._has_nothing, **nobody),
            Route(method="GET", path="/test/cut", handler=self.cut, **nobody),
            Route(method="GET", path="/test/wait", handler=self.wait, deadline=0.05, **nobody),
            Route(method="GET", path="/test/listing", handler=self.listing, **nobody),
            Route(method="GET", path="/test/client", handler=self.inside, **nobody),
            Route(
                method="GET",
                path="/test/user",
                handler=self.inside,
                needs=Role.USER,
                tag="Test",
                summary="For users",
            ),
            Route(
                method="GET",
                path="/test/admin",
                handler=self.inside,
                needs=Role.ADMIN,
                tag="Test",
                summary="For admins",
            ),
            Route(
                method="POST",
                path="/test/seeds",
                handler=self.echo,
                needs=Role.USER,
                tag="Test",
                summary="Limited twice",
                policies=("seed-injection",),
            ),
            Route(
                method="POST",
                path="/test/stream",
                handler=self.echo,
                idempotent=False,
                **nobody,
            ),
        ]
