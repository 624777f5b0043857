"""Find: all are asked, and what one of them does not say takes nothing away from the others."""

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from tests.servers.search_engines import KEY, SILENT, Engines, Page, Status, search_engines

from gossamer.flows.caching import Caching
from gossamer.flows.find import Elsewhere, Finder, OwnIndex, Source
from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.search import Provider
from gossamer.reach.search_brave import Brave
from gossamer.reach.search_searxng import SearXNG
from gossamer.state.cache import Cache
from gossamer.state.database import open_database
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.search_index import Document, SearchIndex
from gossamer.web.question import Question

OURS = "01HZZZZZZZZZZZZZZZZZZZZZZA"
NOW = 1_800_000_000.0
ROPE = Question.parse("silk rope")


class House:
    """The real parts; time goes by when the test says so."""

    def __init__(self, folder: Path, engines: Engines) -> None:
        self.ticks = 0.0
        self.now = NOW
        self.stream = io.StringIO()
        self.log = Log(self.stream)
        self.database = open_database(f"sqlite:///{folder}/gossamer.db")
        self.index = SearchIndex(self.database, self.log, most_pages=100, clock=lambda: NOW)
        self.engines: dict[str, Provider] = {
            "searxng": SearXNG(f"{engines.url}/instance", "test"),
            "brave": Brave(KEY, engines.url, "test"),
        }
        self.hot = MemoryHot()

    def finder(self, *names: str, seconds: float = 10.0) -> Finder:
        known: Mapping[str, Source] = {
            "index": OwnIndex(self.index),
            **{name: Elsewhere(engine) for name, engine in self.engines.items()},
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
        document = Document(url=url, title=title, description="", text=text, language="en", seen_at=NOW)
        self.index.note(OURS, document)

    async def close(self) -> None:
        for engine in self.engines.values():
            await engine.close()
        await self.database.close()


@pytest.fixture
async def engines() -> AsyncIterator[Engines]:
    async with search_engines() as opened:
        yield opened


@pytest.fixture
async def house(tmp_path: Path, engines: Engines) -> AsyncIterator[House]:
    opened = House(tmp_path, engines)
    await opened.database.migrate()
    yield opened
    await opened.close()


async def test_all_are_asked_and_their_rankings_joined(house: House, engines: Engines) -> None:
    house.note("https://a.example/?utm_source=x")
    engines.searxng = [Page("https://b.example/"), Page("http://a.example/", "Theirs")]
    engines.brave = [Page("https://a.example"), Page("https://c.example/")]
    found = await house.finder().find(ROPE, OURS)
    assert [(ranked.hit.url, ranked.source) for ranked in found.results] == [
        ("https://a.example/?utm_source=x", "index"),
        ("https://b.example/", "searxng"),
        ("https://c.example/", "brave"),
    ]
    assert found.results[0].hit.snippet == "A **silk** **rope**."
    assert {name: (one.status, one.count) for name, one in found.providers.items()} == {
        "index": ("ok", 1), "searxng": ("ok", 2), "brave": ("ok", 2),
    }  # fmt: skip
    limited = await house.finder().find(Question.parse("silk rope", limit=1), OURS)
    assert [ranked.hit.url for ranked in limited.results] == ["https://a.example/?utm_source=x"]


async def test_one_that_fails_takes_nothing_away(house: House, engines: Engines) -> None:
    engines.searxng = Status(500)
    engines.brave = [Page("https://a.example/")]
    found = await house.finder().find(ROPE, OURS)
    assert len(found.results) == 1
    assert not found.complete
    assert found.providers["searxng"].reason == "it answers with status 500"
    assert found.results[0].score == pytest.approx(0.5)  # of two who answered, one has it
    assert "search_provider_failed" in house.stream.getvalue()


async def test_nothing_found_and_somebody_silent_is_no_answer(house: House, engines: Engines) -> None:
    engines.searxng = Status(429)
    with pytest.raises(Unavailable, match=r"searxng: it answers with status 429") as caught:
        await house.finder().find(ROPE, OURS)
    told = caught.value.members["details"]["providers"]
    assert {name: one["status"] for name, one in told.items()} == {
        "index": "ok", "searxng": "failed", "brave": "ok",
    }  # fmt: skip
    engines.searxng = []
    assert (await house.finder().find(ROPE, OURS)).results == ()


async def test_nobody_answers(house: House, engines: Engines) -> None:
    engines.searxng = engines.brave = Status(500)
    with pytest.raises(Unavailable, match=r"searxng: .*; brave: ") as caught:
        await house.finder("searxng", "brave").find(ROPE, OURS)
    assert KEY not in f"{caught.value.detail}{caught.value.members}{house.stream.getvalue()}"


async def test_each_has_its_own_deadline(house: House, engines: Engines) -> None:
    house.note("https://a.example/")
    engines.brave = SILENT
    found = await house.finder("index", "brave", seconds=1.0).find(ROPE, OURS)
    assert len(found.results) == 1
    assert found.providers["brave"].reason == "no answer within 1 s"


async def test_who_keeps_failing_is_left_alone_and_tried_again(house: House, engines: Engines) -> None:
    house.note("https://a.example/")
    engines.searxng = Status(500)
    finder = house.finder("index", "searxng")
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
    house.ticks = 60.0
    engines.searxng = []
    both = await asyncio.gather(finder.find(ROPE, OURS), finder.find(ROPE, OURS))
    assert sorted(found.providers["searxng"].status for found in both) == ["ok", "skipped"]
    assert (await finder.find(ROPE, OURS)).complete
    assert (await finder.states())["searxng"] == "answers"


async def test_a_search_that_is_cancelled_does_not_hold_up_the_next(house: House, engines: Engines) -> None:
    finder = house.finder("searxng")
    engines.searxng = Status(500)
    for _ in range(5):
        with pytest.raises(Unavailable):
            await finder.find(ROPE, OURS)
    house.ticks = 60.0
    engines.searxng = SILENT
    hanging = asyncio.create_task(finder.find(ROPE, OURS))
    while len(engines.questions("searxng")) < 6:
        await asyncio.sleep(0.01)
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    engines.searxng = [Page("https://a.example/")]
    assert (await finder.find(ROPE, OURS)).complete


async def test_site_and_time_are_enforced_on_what_comes_back(house: House, engines: Engines) -> None:
    engines.searxng = [
        Page("https://docs.example.com/", published="2027-01-14T00:00:00"),
        Page("https://example.com/old", published="2020-01-01"),
        Page("https://example.com/undated"),
        Page("https://other.example/", published="2027-01-14T00:00:00"),
        Page("ftp://example.com/"),
    ]
    narrowed = Question.parse("rope", site="example.com", recency="week")
    found = await house.finder("searxng").find(narrowed, OURS)
    assert [ranked.hit.url for ranked in found.results] == [
        "https://docs.example.com/",
        "https://example.com/undated",
    ]


async def test_only_what_everybody_took_part_in_is_kept(house: House, engines: Engines) -> None:
    house.note("https://a.example/")
    engines.searxng = Status(500)
    finder, keeping = house.finder("index", "searxng"), Caching(OURS, 60.0)
    _, part = await finder.find_through(ROPE, keeping)
    assert (part.hit, part.until) == (False, None)
    engines.searxng = [Page("https://b.example/", "B", "x", "2026-01-01")]
    house.now += 1
    made, part = await finder.find_through(ROPE, keeping)
    assert (part.hit, part.until) == (False, NOW + 61)
    kept, part = await finder.find_through(ROPE, keeping)
    assert part.hit
    assert kept == made
    _, part = await finder.find_through(Question.parse("silk rope", site="b.example"), keeping)
    assert not part.hit
    _, part = await finder.find_through(ROPE, Caching("01HZZZZZZZZZZZZZZZZZZZZZZB", 60.0))
    assert not part.hit
