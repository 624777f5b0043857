"""What vectors of pages promise, on SQLite and on PostgreSQL: a page is found by what it means."""

import asyncio
import io
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from sqlalchemy import text
from tests.contract.search.test_search_index import NOW, OURS, THEIRS, page
from tests.servers.embeddings_api import MODEL, EmbeddingsApi, embeddings_api
from tests.servers.postgres import PostgresServer

from gossamer.flows.embeddings.embedding_indexer import DUTY, EmbeddingIndexer
from gossamer.flows.embeddings.embedding_source import EmbeddingSource
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.services.embeddings import EmbeddingService
from gossamer.state.db.database import Database, open_database
from gossamer.state.operations import duties
from gossamer.state.search.search_document import IndexedDocument, SearchQuery
from gossamer.state.search.search_index import Matches, SearchIndex
from gossamer.state.search.search_rows import MAX_EMBEDDED
from gossamer.state.search.search_vectors import SearchVectors
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.search.question import Question
from gossamer.web.search.vectors import NearestPages

SHELF = [
    page("health", "Physicians examine patients.", "Medicine", published_at="2027-01-10"),
    page("garage", "An automobile needs oil.", "Repairs", language="de"),
    page("https://other.example/climb", "A strong cord holds climbers.", "Climbing"),
]


class Bench:
    """The parts of one process, on a database and a model that others may share."""

    def __init__(self, database: Database, api: EmbeddingsApi, name: str = "one", model: str = MODEL) -> None:
        self.stream = io.StringIO()
        log = Log(self.stream)
        self.now = 0.0
        self.index = SearchIndex(database, log, max_pages=1_000, clock=lambda: NOW)
        self.model = EmbeddingService(model, base_url=api.base_url)
        self.vectors = SearchVectors(database)
        self.source = EmbeddingSource(self.model, self.vectors, 0.25, lambda: NOW)
        self.indexer = EmbeddingIndexer(name, self.model, self.vectors, database, log, lambda: self.now)

    async def note(self, pages: Sequence[IndexedDocument], tenant: str = OURS) -> None:
        for each in pages:
            self.index.note(tenant, each)
        await self.index.flush()

    async def find(self, query: str, tenant: str = OURS, **narrowed: Any) -> list[str]:
        matches = await self.search(Question.parse(query, **narrowed), tenant)
        return [match.url.rpartition("/")[2] for match in matches.found]

    async def search(self, question: Question, tenant: str = OURS) -> Matches:
        nothing: asyncio.Future[NearestPages] = asyncio.Future()
        found = await self.source.find(tenant, question, nothing)
        return await self.index.search(tenant, question, found.near)


@pytest.fixture
async def api() -> AsyncIterator[EmbeddingsApi]:
    async with embeddings_api() as opened:
        yield opened


@pytest.fixture
async def bench(database: Database, api: EmbeddingsApi) -> AsyncIterator[Bench]:
    opened = Bench(database, api)
    yield opened
    await opened.model.close()


async def test_pages_are_found_by_what_they_mean(bench: Bench, api: EmbeddingsApi) -> None:
    await bench.note(SHELF)
    assert await bench.indexer.embed_waiting() == 3
    assert await bench.find("doctors") == ["health"]
    assert await bench.find("engine") == ["garage"]
    assert await bench.find("rope") == ["climb"]
    assert await bench.find("unrelated") == []
    hits = (await bench.search(Question.parse("doctors"))).found
    assert hits[0].snippet == "Physicians examine patients."
    assert hits[0].passages[0].url.startswith("https://example.com/health#:~:text=Physicians")
    asked = len(api.requests)
    assert await bench.find("doctors") == ["health"]
    assert len(api.requests) == asked  # a question is embedded once


async def test_filters_and_tenants_hold(bench: Bench) -> None:
    await bench.note(SHELF)
    await bench.note([page("theirs", "Physicians of others.")], THEIRS)
    await bench.note([page("public", "Physicians for all.")], PUBLIC)
    await bench.indexer.embed_waiting()
    assert set(await bench.find("doctors")) == {"health", "public"}
    assert set(await bench.find("doctors", THEIRS)) == {"theirs", "public"}
    assert await bench.find("doctors -patients") == ["public"]
    assert await bench.find("doctors", limit=1) == ["public"]  # the shorter one is nearer
    assert await bench.find("rope site:other.example") == ["climb"]
    assert await bench.find("rope site:example.com") == []
    assert await bench.find("engine", language="de") == ["garage"]
    assert await bench.find("engine", language="en") == []
    assert await bench.find("doctors", recency="day") == ["public"]
    assert await bench.find('"doctors"') == []  # a phrase is about words


async def test_a_removed_page_is_gone_and_a_changed_one_found_by_its_new_text(
    bench: Bench, database: Database
) -> None:
    await bench.note(SHELF)
    await bench.indexer.embed_waiting()
    await bench.index.drop(OURS, "https://example.com/health")
    await bench.note([page("https://other.example/climb", "An engine and a motor.")])  # it was the last
    assert await bench.find("doctors") == []
    assert await bench.find("rope") == []
    assert await bench.indexer.embed_waiting() == 1
    assert set(await bench.find("engine")) == {"garage", "climb"}
    async with database.read() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM search_vectors")) == 2


async def test_while_the_model_is_away_pages_wait_and_none_is_lost(bench: Bench, api: EmbeddingsApi) -> None:
    await bench.note(SHELF)
    api.status = 503
    with pytest.raises(Unavailable):
        await bench.indexer.embed_waiting()
    api.status = 200
    await bench.note([page("more", "Physicians again.")])
    assert await bench.indexer.embed_waiting() == 4
    assert await bench.indexer.embed_waiting() == 0
    bench.now += 3_600
    assert await bench.indexer.embed_waiting() == 0  # a new pass embeds nothing twice


async def test_a_page_that_the_model_refuses_does_not_hold_up_others(
    bench: Bench, api: EmbeddingsApi
) -> None:
    await bench.note(SHELF)
    api.refuses = "automobile"
    assert await bench.indexer.embed_waiting() == 3
    assert await bench.find("doctors") == ["health"]
    assert "https://example.com/garage" in bench.stream.getvalue()
    asked = len(api.requests)
    assert await bench.indexer.embed_waiting() == 0
    assert len(api.requests) == asked


async def test_another_model_embeds_all_pages_again(
    bench: Bench, api: EmbeddingsApi, database: Database
) -> None:
    await bench.note(SHELF)
    await bench.indexer.embed_waiting()
    api.dimensions = 32
    wider = Bench(database, api)
    assert await wider.find("doctors") == []  # vectors of 64 dimensions cannot be compared
    assert await wider.indexer.embed_waiting() == 3
    assert await wider.find("doctors") == ["health"]
    renamed = Bench(database, api, model="another")
    assert await renamed.indexer.embed_waiting() == 3
    assert await renamed.find("doctors") == ["health"]
    assert await bench.vectors.count("another/32/3") == (3, 3)
    await wider.model.close()
    await renamed.model.close()


async def test_one_process_at_a_time_embeds(bench: Bench, api: EmbeddingsApi, database: Database) -> None:
    await bench.note(SHELF)
    other = Bench(database, api, "other")
    async with database.write() as connection:
        assert await duties.take(connection, DUTY, "other", seconds=60)
    assert await bench.indexer.embed_waiting() == 0
    assert await other.indexer.embed_waiting() == 3
    await other.model.close()


async def test_long_pages_have_a_bounded_number_of_vectors(bench: Bench, api: EmbeddingsApi) -> None:
    await bench.note([page("long", "word " * 18_000 + "physicians")])
    await bench.indexer.embed_waiting()
    assert len(api.texts) == 1 + MAX_EMBEDDED  # with the probe
    assert all(len(request["input"]) <= 32 for request in api.requests)
    assert await bench.find("word") == ["long"]


async def test_nearest_is_exact_by_the_cosine(bench: Bench) -> None:
    await bench.note([page(f"p{number}", f"page {number}") for number in range(20)])
    await bench.vectors.prepare()
    last = await bench.vectors.last_page()
    rows = await bench.vectors.waiting("turns", 0, last, 100)
    turns = {row.id: (math.cos(place / 20), math.sin(place / 20)) for place, row in enumerate(rows)}
    await bench.vectors.put("turns", [(one, [(0.0, -1.0), turn]) for one, turn in turns.items()])
    query = SearchQuery.of(Question.parse("x"), (), (), (OURS, PUBLIC), NOW)
    found = await bench.vectors.nearest(query, "turns", (1.0, 0.0), 0.85)
    assert [one.page for one in found.passages] == [
        row.id for row in rows[:12]
    ]  # cos 0.55 is above 0.85, cos 0.6 is not
    assert ({one.place for one in found.passages}, found.floor) == ({1}, 0.85)
    assert not (await bench.vectors.nearest(query, "other", (1.0, 0.0), 0.0)).passages


async def test_words_and_meaning_make_one_ranking(bench: Bench) -> None:
    """A page that has both comes before one that has either."""
    words, meaning, both = (
        page("words", "The doctors of philosophy met.", "Meeting"),
        page("meaning", "Physicians examine patients.", "Medicine"),
        page("both", "Doctors: physicians examine patients.", "Medicine"),
    )
    await bench.note([words, meaning, both])
    await bench.indexer.embed_waiting()
    found = (await bench.search(Question.parse("doctors"))).found
    assert found[0].url.endswith("/both")
    assert {match.url.rpartition("/")[2] for match in found} == {"both", "meaning", "words"}
    (by_meaning,) = (match for match in found if match.url.endswith("/meaning"))
    assert by_meaning.missing == ("doctors",)
    assert by_meaning.snippet == "Physicians examine patients."


async def test_postgresql_without_pgvector_says_what_is_missing(postgres: PostgresServer) -> None:
    """A user who may not install extensions is as far as one on a server that has none."""
    postgres.sql("DROP ROLE IF EXISTS plain")
    postgres.sql("CREATE ROLE plain LOGIN")
    async with AsyncExitStack() as stack:
        database = open_database(postgres.url.replace("postgres@", "plain@"))
        stack.push_async_callback(database.close)
        with pytest.raises(Unavailable, match="pgvector"):
            await SearchVectors(database).prepare()
