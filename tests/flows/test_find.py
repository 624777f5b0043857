"""Find: all are asked, and what one of them does not say takes nothing away from the others."""

import asyncio
import io
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.servers.search_engines import KEY, SILENT, Engines, Page, Status, search_engines

from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.search import Finder, IndexSource, ProviderSource, SearchSource
from gossamer.observe.logs import Log
from gossamer.problems import Busy, Unavailable
from gossamer.reach.services.search import Brave, Provider, SearXNG
from gossamer.state.cache import Cache
from gossamer.state.db.database import DEADLINE, SCANS, open_database
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.web.search.question import Question

OURS = "01HZZZZZZZZZZZZZZZZZZZZZZA"
NOW = 1_800_000_000.0
ROPE = Question.parse("silk rope")


class Service:
    """The real parts; time goes by when the test says so."""

    def __init__(self, folder: Path, engines: Engines, deadline: float = DEADLINE) -> None:
        self.ticks = 0.0
        self.now = NOW
        self.stream = io.StringIO()
        self.log = Log(self.stream)
        self.file = folder / "gossamer.db"
        self.database = open_database(f"sqlite:///{self.file}", deadline=deadline)
        self.index = SearchIndex(self.database, self.log, max_pages=100, clock=lambda: NOW)
        self.engines: dict[str, Provider] = {
            "searxng": SearXNG(f"{engines.url}/instance", "test"),
            "brave": Brave(KEY, engines.url, "test"),
        }
        self.hot = MemoryHot()

    def finder(self, *names: str, seconds: float = 10.0) -> Finder:
        known: Mapping[str, SearchSource] = {
            "index": IndexSource(self.index),
            **{name: ProviderSource(engine) for name, engine in self.engines.items()},
        }
        return Finder(
            {name: known[name] for name in names or known},
            Cache(self.hot, self.log, lambda: self.now),
            self.log,
            clock=lambda: self.now,
            ticks=lambda: self.ticks,
            seconds=seconds,
        )

    def note(self, url: str, text: str = "A silk rope.", title: str = "Ours") -> None:
        document = IndexedDocument(
            url=url, title=title, description="", text=text, language="en", seen_at=NOW
        )
        self.index.note(OURS, document)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Another process writes to the database, and is not done before the end of the block."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield

    async def close(self) -> None:
        for engine in self.engines.values():
            await engine.close()
        await self.database.close()


@pytest.fixture
async def engines() -> AsyncIterator[Engines]:
    async with search_engines() as opened:
        yield opened


@pytest.fixture
async def service(tmp_path: Path, engines: Engines) -> AsyncIterator[Service]:
    opened = Service(tmp_path, engines)
    await opened.database.migrate()
    yield opened
    await opened.close()


async def test_all_are_asked_and_their_rankings_joined(service: Service, engines: Engines) -> None:
    service.note("https://a.example/?utm_source=x")
    engines.searxng = [Page("https://b.example/"), Page("http://a.example/", "Theirs")]
    engines.brave = [Page("https://a.example"), Page("https://c.example/")]
    found = await service.finder().find(ROPE, OURS)
    assert [(ranked.hit.url, ranked.source) for ranked in found.results] == [
        ("https://a.example/?utm_source=x", "index"),
        ("https://b.example/", "searxng"),
        ("https://c.example/", "brave"),
    ]
    assert found.results[0].hit.snippet == "A **silk** **rope**."
    assert {name: (one.status, one.count) for name, one in found.providers.items()} == {
        "index": ("ok", 1), "searxng": ("ok", 2), "brave": ("ok", 2),
    }  # fmt: skip
    limited = await service.finder().find(Question.parse("silk rope", limit=1), OURS)
    assert [ranked.hit.url for ranked in limited.results] == ["https://a.example/?utm_source=x"]


async def test_one_that_fails_takes_nothing_away(service: Service, engines: Engines) -> None:
    engines.searxng = Status(500)
    engines.brave = [Page("https://a.example/")]
    found = await service.finder().find(ROPE, OURS)
    assert len(found.results) == 1
    assert not found.complete
    assert found.providers["searxng"].reason == "it answers with status 500"
    assert found.results[0].score == pytest.approx(0.5)  # of two who answered, one has it
    assert "search_provider_failed" in service.stream.getvalue()


async def test_nothing_found_and_somebody_silent_is_no_answer(service: Service, engines: Engines) -> None:
    engines.searxng = Status(429)
    with pytest.raises(Unavailable, match=r"searxng: it answers with status 429") as caught:
        await service.finder().find(ROPE, OURS)
    told = caught.value.members["details"]["providers"]
    assert {name: one["status"] for name, one in told.items()} == {
        "index": "ok", "searxng": "failed", "brave": "ok",
    }  # fmt: skip
    engines.searxng = []
    assert (await service.finder().find(ROPE, OURS)).results == ()


async def test_nobody_answers(service: Service, engines: Engines) -> None:
    engines.searxng = engines.brave = Status(500)
    with pytest.raises(Unavailable, match=r"searxng: .*; brave: ") as caught:
        await service.finder("searxng", "brave").find(ROPE, OURS)
    assert KEY not in f"{caught.value.detail}{caught.value.members}{service.stream.getvalue()}"


async def test_each_has_its_own_deadline(service: Service, engines: Engines) -> None:
    service.note("https://a.example/")
    engines.brave = SILENT
    found = await service.finder("index", "brave", seconds=1.0).find(ROPE, OURS)
    assert len(found.results) == 1
    assert found.providers["brave"].reason == "no answer within 1 s"


async def test_who_keeps_failing_is_left_alone_and_tried_again(service: Service, engines: Engines) -> None:
    service.note("https://a.example/")
    engines.searxng = Status(500)
    finder = service.finder("index", "searxng")
    assert await finder.states() == {"index": "answers", "searxng": "answers"}
    for _ in range(5):
        await finder.find(ROPE, OURS)
    found = await finder.find(ROPE, OURS)
    assert found.providers["searxng"].status == "skipped"
    assert len(engines.questions("searxng")) == 5
    with pytest.raises(Unavailable, match="searxng"):
        await finder.states()
    with pytest.raises(Unavailable, match="left alone"):
        await finder.find(Question.parse("nothing"), OURS)
    service.ticks = 60.0
    engines.searxng = []
    both = await asyncio.gather(finder.find(ROPE, OURS), finder.find(ROPE, OURS))
    assert sorted(found.providers["searxng"].status for found in both) == ["ok", "skipped"]
    assert (await finder.find(ROPE, OURS)).complete
    assert (await finder.states())["searxng"] == "answers"


async def test_a_search_that_is_cancelled_does_not_hold_up_the_next(
    service: Service, engines: Engines
) -> None:
    finder = service.finder("searxng")
    engines.searxng = Status(500)
    for _ in range(5):
        with pytest.raises(Unavailable):
            await finder.find(ROPE, OURS)
    service.ticks = 60.0
    engines.searxng = SILENT
    hanging = asyncio.create_task(finder.find(ROPE, OURS))
    while len(engines.questions("searxng")) < 6:
        await asyncio.sleep(0.01)
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    engines.searxng = [Page("https://a.example/")]
    assert (await finder.find(ROPE, OURS)).complete


async def test_that_nothing_was_found_is_not_said_while_the_index_cannot_take_what_was_read(
    service: Service, engines: Engines, tmp_path: Path
) -> None:
    hurried = Service(tmp_path, engines, deadline=2.0)  # on the same database
    hurried.note("https://a.example/")
    finder, keeping = hurried.finder("index", "searxng"), Caching(OURS, 60.0)
    with hurried.locked():
        with pytest.raises(Unavailable, match="pages that were read last could not be added") as caught:
            await finder.find_cached(ROPE, keeping)
        told = caught.value.members["details"]["providers"]
        assert {name: one["status"] for name, one in told.items()} == {"index": "partial", "searxng": "ok"}
        engines.searxng = [Page("https://b.example/")]
        found, part = await finder.find_cached(ROPE, keeping)
        assert [ranked.source for ranked in found.results] == ["searxng"]
        assert (found.complete, part.until) == (False, None)
        theirs = await finder.find(ROPE, "01HZZZZZZZZZZZZZZZZZZZZZZB")  # nothing of theirs is missing
        assert theirs.complete
    found, _ = await finder.find_cached(ROPE, keeping)
    assert sorted(ranked.source for ranked in found.results) == ["index", "searxng"]
    assert found.complete
    await hurried.close()


async def test_site_and_time_are_enforced_on_what_comes_back(service: Service, engines: Engines) -> None:
    engines.searxng = [
        Page("https://docs.example.com/", published="2027-01-14T00:00:00"),
        Page("https://example.com/old", published="2020-01-01"),
        Page("https://example.com/undated"),
        Page("https://other.example/", published="2027-01-14T00:00:00"),
        Page("ftp://example.com/"),
    ]
    narrowed = Question.parse("rope", site="example.com", recency="week")
    found = await service.finder("searxng").find(narrowed, OURS)
    assert [ranked.hit.url for ranked in found.results] == [
        "https://docs.example.com/",
        "https://example.com/undated",
    ]


async def test_only_what_everybody_took_part_in_is_kept(service: Service, engines: Engines) -> None:
    service.note("https://a.example/")
    engines.searxng = Status(500)
    finder, keeping = service.finder("index", "searxng"), Caching(OURS, 60.0)
    _, part = await finder.find_cached(ROPE, keeping)
    assert (part.hit, part.until) == (False, None)
    engines.searxng = [Page("https://b.example/", "B", "x", "2026-01-01")]
    service.now += 1
    made, part = await finder.find_cached(ROPE, keeping)
    assert (part.hit, part.until) == (False, NOW + 61)
    kept, part = await finder.find_cached(ROPE, keeping)
    assert part.hit
    assert kept == made
    _, part = await finder.find_cached(Question.parse("silk rope", site="b.example"), keeping)
    assert not part.hit
    _, part = await finder.find_cached(ROPE, Caching("01HZZZZZZZZZZZZZZZZZZZZZZB", 60.0))
    assert not part.hit


async def test_an_index_that_is_busy_is_no_reason_to_leave_it_alone(service: Service) -> None:
    service.note("https://example.com/rope")
    finder = service.finder("index")
    async with AsyncExitStack() as stack:
        for _ in range(SCANS):
            await stack.enter_async_context(service.database.scan())
        for _ in range(6):
            with pytest.raises(Busy) as refused:
                await finder.find(ROPE, OURS)
        assert refused.value.service == "search"
        assert refused.value.members["details"]["providers"]["index"]["status"] == "busy"
    assert (await finder.find(ROPE, OURS)).complete
    assert await finder.states() == {"index": "answers"}


async def test_what_others_found_is_shown_while_the_index_is_busy(service: Service, engines: Engines) -> None:
    engines.searxng = [Page("https://a.example/")]
    async with AsyncExitStack() as stack:
        for _ in range(SCANS):
            await stack.enter_async_context(service.database.scan())
        found = await service.finder("index", "searxng").find(ROPE, OURS)
    assert found.providers["index"].status == "busy"
    assert found.providers["searxng"].status == "ok"
    assert not found.complete


async def test_an_index_that_has_too_much_to_do_is_busy_and_not_away(service: Service) -> None:
    service.note("https://example.com/rope")
    finder = service.finder("index")
    slow = replace(finder, sources={"index": IndexSource(service.index, seconds=0.0)})
    for _ in range(6):
        with pytest.raises(Busy):
            await slow.find(ROPE, OURS)
    assert await slow.states() == {"index": "answers"}
    assert (await finder.find(ROPE, OURS)).complete
