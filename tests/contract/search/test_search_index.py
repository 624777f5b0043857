"""What the search index promises, on SQLite and on PostgreSQL: the same questions find the same pages."""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, select, text, update
from tests.endless import endless_searches
from tests.servers.postgres import PostgresServer

from gossamer.observe.logs import Log
from gossamer.problems import Busy, Unavailable
from gossamer.state.db.database import Database, open_database
from gossamer.state.db.tables import search_pages, search_tenants, search_weights
from gossamer.state.pages.page_key import PagePrefix
from gossamer.state.search import search_index_sqlite, search_rows
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.search.passages import TextHeading
from gossamer.web.search.question import Question

OURS = "01HZZZZZZZZZZZZZZZZZZZZZZA"
THEIRS = "01HZZZZZZZZZZZZZZZZZZZZZZB"
NOW = 1_800_000_000.0
DAY = 86_400.0


def index_of(database: Database, max_pages: int = 1_000, log: Log | None = None) -> SearchIndex:
    return SearchIndex(database, log or Log(io.StringIO()), max_pages=max_pages, clock=lambda: NOW)


def page(path: str, text: str = "", title: str = "", **more: Any) -> IndexedDocument:
    url = path if "://" in path else f"https://example.com/{path}"
    usual: dict[str, Any] = {"description": "", "language": "en", "seen_at": NOW}
    return IndexedDocument(url=url, title=title, text=text, **(usual | more))


async def noted(database: Database, pages: Iterable[IndexedDocument], tenant: str = OURS) -> SearchIndex:
    index = index_of(database)
    for each in pages:
        index.note(tenant, each)
    await index.flush()
    return index


async def found(index: SearchIndex, query: str, tenant: str = OURS, **narrowed: Any) -> list[str]:
    """The pages that have everything that was asked for."""
    matches = (await index.search(tenant, Question.parse(query, **{"limit": 50, **narrowed}))).found
    return [match.url.removeprefix("https://example.com/") for match in matches if not match.missing]


async def counts(database: Database, tenant: str = OURS) -> tuple[int, int, int]:
    """Pages, pages that have words, and what the tenant is said to have."""
    async with database.read() as connection:
        pages = await connection.scalar(select(func.count()).where(search_pages.c.tenant_id == tenant))
        words = await connection.scalar(text("SELECT count(*) FROM search_words"))
        said = select(search_tenants.c.pages).where(search_tenants.c.tenant_id == tenant)
        return pages or 0, words or 0, await connection.scalar(said) or 0


SHELF = [
    page("silk", "A rope of silk, spun by hand and wound on a reel.", "Silk rope"),
    page("hemp", "A rope of hemp. It does not burn as fast as silk.", "Hemp rope"),
    page("cafe", "Le café crème coûte 3,50 € à Besançon.", "Prix du café"),
    page("strasse", "Die Straße nach Zürich ist heute gesperrt.", "Verkehr"),
    page("tokyo", "東京タワーは東京都港区にある電波塔です。", "東京タワー"),
    page("beijing", "北京是中华人民共和国的首都。", "北京"),
    page("seoul", "서울은 대한민국의 수도이다.", "서울"),
    page("hindi", "हिन्दी भारत की एक भाषा है।", "हिन्दी"),
    page("thai", "ภาษาไทยเป็นภาษาราชการของประเทศไทย", "ภาษาไทย"),
    page("arabic", "السَّلامُ عليكم ورحمة الله", "سلام"),
    page("russian", "Ёлка стоит в лесу.", "Ёлка"),
    page("code", "Call foo_bar(x) or example.com's C++ API, version 2.5e10, user@example.org.", "API"),
    page("words", "AND OR NOT NEAR title body facets", "Reserved words"),
]
QUESTIONS: dict[str, set[str]] = {
    "rope": {"silk", "hemp"},
    "ROPE silk": {"silk", "hemp"},
    "silk reel": {"silk"},
    '"rope of silk"': {"silk"},
    '"silk of rope"': set(),
    "rope -hemp": {"silk"},
    'rope -"does not"': {"silk"},
    "reel OR burn": {"silk", "hemp"},
    "reel | burn spun": {"silk"},
    "OR rope OR": {"silk", "hemp"},
    "cafe": {"cafe"},
    "CAFÉ besancon": {"cafe"},
    "strasse ZURICH": {"strasse"},
    "Straße": {"strasse"},
    "東京": {"tokyo"},
    "電波塔": {"tokyo"},
    "京東": set(),
    "首都": {"beijing"},
    "수도이다": {"seoul"},
    "भाषा": {"hindi"},
    "ภาษาราชการ": {"thai"},
    "السلام": {"arabic"},
    "елка": {"russian"},
    "ёлка": {"russian"},
    "foo_bar": {"code"},
    "C++": {"code"},
    "2.5e10": {"code"},
    "user@example.org": {"code"},
    "example.com": {"code"},
    "AND": {"silk", "words"},
    "NOT NEAR": {"words"},
    "title : body": {"words"},
    "-rope": set(),
    "": set(),
    '"': set(),
    "!!! *** :-)": set(),
    "nothing here": set(),
    "ropes": {"silk", "hemp"},
    "how do I spin a rope": {"silk"},  # spun
    "what is the rope": {"silk", "hemp"},
    "verkehre": {"strasse"},
    "ree*": {"silk"},
    "straß*": {"strasse"},
    '"ropes of silk"': {"silk"},
    "-ropes words": {"words"},
    "rope " * 200: {"silk", "hemp"},
    " OR ".join(["rope", *map("x{}".format, range(200))]): {"silk", "hemp"},
    " -".join(["rope", *map("x{}".format, range(200))]): {"silk", "hemp"},
    "東" * 200: set(),
}


async def test_the_same_questions_find_the_same_pages(database: Database) -> None:
    index = await noted(database, SHELF)
    for query, expected in QUESTIONS.items():
        assert (query, set(await found(index, query))) == (query, expected)


async def test_titles_come_first_and_the_newest_before_its_like(database: Database) -> None:
    said = "Many words about ropes and reels and very little else, " * 3
    pages = [
        page("1", f"{said} spider", "Nothing"),
        page("2", said, "Spider"),
        page("3", said, "Nothing", description="A spider."),
        page("4", f"{said} spider", "Nothing"),
    ]
    index = await noted(database, pages)
    assert await found(index, "spider") == ["2", "3", "4", "1"]
    assert await found(index, "spider", limit=2) == ["2", "3"]


HOSTILE = st.text(
    st.sampled_from(list("ab\"'()*:^-+{}|&!<>\\~.,;@=%_$#/? \0\n\u200bé東\U0001f600\ud800")), max_size=30
)


@settings(max_examples=150)
@given(query=HOSTILE)
async def test_no_question_is_an_error_or_finds_what_is_not_ours(database: Database, query: str) -> None:
    index = index_of(database)
    index.note(THEIRS, page("theirs", "a b aa ab ba bb é 東", "a b"))
    index.note(OURS, page("ours", "a b aa ab ba bb é 東", "a b"))
    assert set(await found(index, query)) <= {"ours"}


@settings(max_examples=50)
@given(said=st.text(max_size=200))
async def test_whatever_a_page_says_can_be_kept_and_shown(database: Database, said: str) -> None:
    index = index_of(database)
    index.note(OURS, page("any", f"needle {said}", said, description=said, language=said, published_at=said))
    (match,) = (await index.search(OURS, Question.parse("needle"))).found
    assert match.snippet.startswith("**needle**")
    assert all(character == " " or character.isprintable() for character in match.snippet + match.title)


async def test_tenants_see_their_own_and_what_is_public(database: Database) -> None:
    index = index_of(database)
    index.note(OURS, page("ours", "one rope"))
    index.note(THEIRS, page("theirs", "one rope"))
    index.note(PUBLIC, page("public", "one rope"))
    assert set(await found(index, "rope")) == {"ours", "public"}
    assert set(await found(index, "rope", THEIRS)) == {"theirs", "public"}
    assert await found(index, "rope", PUBLIC) == ["public"]


async def test_a_page_cannot_put_itself_into_another_tenants_search(database: Database) -> None:
    """Neither by naming what narrows a search, nor by its mark."""
    from gossamer.state.search.search_document import facet

    forged = f"{facet('tenant', THEIRS)} @{facet('tenant', THEIRS)} '@{facet('tenant', THEIRS)}' rope"
    index = await noted(database, [page("forged", forged, forged, description=forged)])
    assert await found(index, "rope", THEIRS) == []


async def test_site_language_and_recency(database: Database) -> None:
    index = await noted(
        database,
        [
            page("https://example.com/a", "rope", language="en-GB"),
            page("https://docs.example.com/b", "rope", language="de", seen_at=NOW - 3 * DAY),
            page("https://notexample.com/c", "rope", language="", seen_at=NOW - 20 * DAY),
            page("https://xn--mnchen-3ya.example/d", "rope", published_at="2020-01-01"),
        ],
    )
    a, b, c, d = (
        "a",
        "https://docs.example.com/b",
        "https://notexample.com/c",
        "https://xn--mnchen-3ya.example/d",
    )
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {a, b, c, d}),
        ({"site": "example.com"}, {a, b}),
        ({"site": "docs.example.com"}, {b}),
        ({"site": "MÜNCHEN.example"}, {d}),
        ({"site": "com"}, {a, b, c}),
        ({"language": "en"}, {a, d}),
        ({"language": "de-AT"}, {b}),
        ({"recency": "day"}, {a}),
        ({"recency": "week"}, {a, b}),
        ({"recency": "month", "site": "notexample.com"}, {c}),
        ({"recency": "year"}, {a, b, c}),
    ]
    for narrowed, expected in cases:
        assert (narrowed, set(await found(index, "rope", **narrowed))) == (narrowed, expected)
    assert set(await found(index, "rope site:docs.example.com")) == {b}


async def test_a_page_is_one_row_and_the_last_reading_counts(database: Database) -> None:
    index = index_of(database)
    index.note(OURS, page("a", "silk"))
    spelt = "http://example.com/a/?utm_source=x"
    index.note(OURS, page(spelt, "hemp"))
    assert (await found(index, "silk"), await found(index, "hemp")) == ([], [spelt])
    index.note(OURS, page("a", "cotton"))
    assert (await found(index, "hemp"), await found(index, "cotton")) == ([], ["a"])
    assert await counts(database) == (1, 1, 1)


async def test_dates_and_snippets_are_told(database: Database) -> None:
    said = (
        "Plain words that nobody looks for. " * 20
        + "Here is the silk rope\u200b\u202e, <b>spun</b> by hand. "
        + "More words. " * 50
    )
    index = await noted(database, [page("a", said, "T\x00i\x1btle", published_at="2026-01-02T03:04:05Z")])
    (match,) = (await index.search(OURS, Question.parse('"silk rope" hand'))).found
    assert "Here is the **silk rope**, <b>spun</b> by **hand**. More words." in match.snippet
    assert match.snippet.startswith("…")
    assert match.snippet.endswith("…")
    assert len(match.snippet) < 270
    assert match.title == "T i tle"
    assert (match.seen_at, match.published_at) == (NOW, 1_767_323_045.0)


async def test_long_pages_are_bounded(database: Database) -> None:
    index = await noted(
        database, [page("long", "word " * 10_000 + "middle " + "東" * 300_000 + " end", "t" * 5_000)]
    )
    assert await found(index, "middle") == ["long"]
    assert await found(index, "end") == []
    async with database.read() as connection:
        row = (await connection.execute(select(search_pages))).one()
    assert (len(row.text), len(row.title)) == (100_000, 300)


async def test_the_oldest_make_room(database: Database) -> None:
    index = index_of(database, max_pages=30)
    for number in range(40):
        index.note(OURS, page(str(number), f"rope n{number}"))
    index.note(THEIRS, page("theirs", "rope"))
    await index.flush()
    assert await counts(database) == (30, 31, 30)
    index.note(OURS, page("10", "rope again"))
    index.note(OURS, page("40", "rope n40"))
    await index.flush()
    assert await counts(database) == (30, 31, 30)
    assert set(await found(index, "rope")) == {*map(str, range(12, 41)), "10"}
    assert await found(index, "rope", THEIRS) == ["theirs"]
    smaller = index_of(database, max_pages=5)
    smaller.note(OURS, page("41", "rope"))
    assert set(await found(smaller, "rope")) == {"10", "38", "39", "40", "41"}
    assert await counts(database) == (5, 6, 5)


async def test_no_index_keeps_nothing(database: Database) -> None:
    index = index_of(database, max_pages=0)
    index.note(OURS, page("a", "rope"))
    assert await found(index, "rope") == []


async def test_dropping(database: Database) -> None:
    pages = [page(path, "rope") for path in ("", "docs", "docs/a", "docs-old", "docs?x=1", "b")]
    index = await noted(database, [*pages, page("https://other.example/docs/a", "rope")])
    index.note(THEIRS, page("docs", "rope"))
    index.note(OURS, page("pending", "rope"))
    await index.drop(OURS, "https://example.com/b")
    await index.drop(OURS, "https://example.com/pending")
    await index.drop(OURS, "https://example.com/none")
    assert set(await found(index, "rope")) == {
        "", "docs", "docs/a", "docs-old", "docs?x=1", "https://other.example/docs/a",
    }  # fmt: skip
    index.note(OURS, page("docs/pending", "rope"))
    await index.drop_prefix(OURS, PagePrefix.parse("https://example.com/docs"))
    assert set(await found(index, "rope")) == {"", "docs-old", "https://other.example/docs/a"}
    await index.drop_prefix(OURS, PagePrefix.parse("https://example.com/doc*"))
    assert set(await found(index, "rope")) == {"", "https://other.example/docs/a"}
    await index.drop_all(OURS)
    assert await found(index, "rope") == []
    assert await found(index, "rope", THEIRS) == ["docs"]
    assert await counts(database) == (0, 1, 0)


async def test_several_processes_write_the_same_pages(database_url: str) -> None:
    databases = [open_database(database_url) for _ in range(3)]
    await databases[0].migrate()
    indexes = [index_of(database, max_pages=50) for database in databases]
    for turn in range(3):
        for number, index in enumerate(indexes):
            for each in range(30):
                index.note(OURS, page(f"shared/{each}", f"rope turn{turn}"))
                index.note(THEIRS, page(f"own/{number}/{each}", "rope"))
        await asyncio.gather(*(index.flush() for index in indexes for _ in range(2)))
    assert await counts(databases[0]) == (30, 80, 30)
    assert await counts(databases[0], THEIRS) == (50, 80, 50)
    assert len(await found(indexes[0], "turn2")) == 30
    assert await found(indexes[0], "turn1") == []
    for database in databases:
        await database.close()


async def test_memory_is_bounded_and_says_so(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.state.search.search_index.MAX_NOTED_PAGES", 3)
    stream = io.StringIO()
    index = index_of(database, log=Log(stream))
    for number in range(5):
        index.note(OURS, page(str(number), "rope"))
    assert set(await found(index, "rope")) == {"2", "3", "4"}
    assert '"pages":2' in stream.getvalue().replace(" ", "")
    monkeypatch.setattr("gossamer.state.search.search_index.MAX_NOTED_CHARS", 1_000)
    for number in range(5, 9):
        index.note(OURS, page(str(number), "rope " * 80))
    assert set(await found(index, "rope")) == {"2", "3", "4", "7", "8"}


async def test_what_a_database_that_is_away_cannot_take_is_kept(postgres: PostgresServer) -> None:
    database = open_database(postgres.url, deadline=2.0)
    index = index_of(database)
    index.note(OURS, page("before", "rope"))
    postgres.stop()
    for number in range(2):
        with pytest.raises(Unavailable):
            await index.flush()
        index.note(OURS, page(str(number), "rope"))
    with pytest.raises(Unavailable):
        await index.search(OURS, Question.parse("rope"))
    postgres.start()
    assert set(await found(index, "rope")) == {"before", "0", "1"}
    await database.close()


async def test_what_is_written_can_be_searched_while_nothing_can_be_written(
    database: Database, database_url: str
) -> None:
    hurried = open_database(database_url, deadline=1.0)
    index = await noted(hurried, [page("before", "rope")])
    index.note(OURS, page("after", "rope"))
    async with database.write(seconds=60) as connection:
        await connection.execute(update(search_tenants).values(pages=search_tenants.c.pages))
        matches = await index.search(OURS, Question.parse("rope"))
        assert [match.url for match in matches.found] == ["https://example.com/before"]
        assert not matches.current
        assert (await index.search(THEIRS, Question.parse("rope"))).current
    assert set(await found(index, "rope")) == {"before", "after"}
    await hurried.close()


async def test_a_page_is_found_at_once_however_many_others_were_read_before(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_of(database)
    for number in range(300):
        index.note(OURS, page(str(number), "yarn"))
    index.note(OURS, page("silk", "rope"))
    monkeypatch.setattr("gossamer.state.search.search_index.CATCH_UP_SECONDS", 0.0)
    matches = await index.search(OURS, Question.parse("rope"))
    assert (matches.found, matches.current) == ((), False)
    assert (await index.search(THEIRS, Question.parse("rope"))).current
    monkeypatch.setattr("gossamer.state.search.search_index.CATCH_UP_SECONDS", 60.0)
    matches = await index.search(OURS, Question.parse("rope"))
    assert (len(matches.found), matches.current, index.noted) == (1, True, 0)


Meanwhile = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Something happens between the statement that finds pages and the one that reads them."""

    def happens(something: Callable[[], Awaitable[None]]) -> None:
        find = search_rows.find

        async def found(*given: Any) -> search_rows.CandidatePages:
            pages = await find(*given)
            monkeypatch.setattr(search_rows, "find", find)  # once
            await something()
            return pages

        monkeypatch.setattr(search_rows, "find", found)

    return happens


async def test_a_page_that_is_replaced_while_it_is_searched_for_is_found(
    database: Database, meanwhile: Meanwhile
) -> None:
    """The id that it was found by is gone when it is to be read."""
    index = await noted(database, [page("silk", "rope"), page("wool", "yarn")])
    meanwhile(lambda: _add(database, OURS, page("silk", "rope", seen_at=NOW + 1)))
    (match,) = (await index.search(OURS, Question.parse("rope"))).found
    assert match.seen_at == NOW + 1


async def test_a_page_that_gets_the_id_of_one_that_was_found_is_shown_to_its_tenant_only(
    database: Database, meanwhile: Meanwhile
) -> None:
    index = await noted(database, [page("silk", "rope")])

    async def replace() -> None:
        await index.drop_all(OURS)
        await _add(database, THEIRS, page("theirs", "rope"))

    meanwhile(replace)
    assert await found(index, "rope") == []
    assert await found(index, "rope", THEIRS) == ["theirs"]


async def _add(database: Database, tenant: str, document: IndexedDocument) -> None:
    await noted(database, [document], tenant)


async def test_a_flush_that_is_cancelled_loses_nothing(database: Database) -> None:
    index = index_of(database)
    for number in range(1, 16):
        index.note(OURS, page(str(number), "rope"))
        flushing = asyncio.create_task(index.flush())
        for _ in range(number):
            await asyncio.sleep(0)
        flushing.cancel()
        await asyncio.gather(flushing, return_exceptions=True)
    assert len(await found(index, "rope")) == 15
    assert await counts(database) == (15, 15, 15)


@pytest.fixture
async def hurried(database_url: str) -> AsyncIterator[Database]:
    database = open_database(database_url, deadline=5.0)
    await database.migrate()
    await noted(database, SHELF)
    yield database
    await database.close()


async def test_a_search_that_takes_too_long_is_ended_and_answers_with_what_it_has(hurried: Database) -> None:
    index = index_of(hurried)
    with endless_searches(first=2):
        matches = await index.search(OURS, Question.parse("silk rope"))
    assert {match.title for match in matches.found} == {"Silk rope", "Hemp rope"}
    assert not matches.complete
    assert (await index.search(OURS, Question.parse("rope"))).complete


async def test_a_search_that_takes_too_long_and_has_found_nothing_is_refused(hurried: Database) -> None:
    index = index_of(hurried)
    with endless_searches(), pytest.raises(Busy, match="took too long"):
        await index.search(OURS, Question.parse("rope"))
    assert (await index.search(OURS, Question.parse("rope"))).complete


async def test_of_many_searches_at_once_some_are_refused_and_nobody_else_waits(hurried: Database) -> None:
    index, question = index_of(hurried), Question.parse("rope")
    with endless_searches():
        searching = [asyncio.create_task(index.search(OURS, question)) for _ in range(60)]
        await asyncio.sleep(0)
        while not all(task.done() for task in searching):
            async with hurried.read() as connection:
                assert await connection.scalar(text("SELECT 1")) == 1
            await asyncio.sleep(0.05)
    assert {type(task.exception()) for task in searching} == {Busy}


async def test_where_only_what_is_new_is_wanted_not_all_that_is_old_is_gone_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite the newest so many; on PostgreSQL time alone is the bound."""
    database = open_database(str(tmp_path / "gossamer.db"))
    await database.migrate()
    old = [page(str(number), "rope", seen_at=NOW - 400 * DAY) for number in range(30)]
    index = await noted(database, [page("first", "rope"), *old, page("last", "rope")])
    assert set(await found(index, "rope", recency="week")) == {"first", "last"}
    monkeypatch.setattr(search_index_sqlite, "MAX_SCANNED", 10)
    assert set(await found(index, "rope", recency="week")) == {"last"}
    await database.close()


async def test_a_word_that_no_page_has_is_replaced_by_the_nearest(database: Database) -> None:
    index = await noted(database, SHELF)
    index.note(THEIRS, page("theirs", "A marmalade of quinces."))
    cases = {
        "sikl rope": {"sikl": "silk"},
        "hmep": {"hmep": "hemp"},
        "besncn café": {"besncn": "besancon"},
        "marmelade": {},  # only others have it
        '"sikl rope"': {},  # quoted words stay as they are
    }
    for query, corrected in cases.items():
        matches = await index.search(OURS, Question.parse(query))
        assert (query, dict(matches.corrected)) == (query, corrected)
        assert bool(matches.found) == bool(corrected)


async def test_pages_that_lack_a_word_follow_and_say_so(database: Database) -> None:
    index = await noted(database, SHELF)
    matches = await index.search(OURS, Question.parse("silk reel burning"))
    assert [(match.title, match.missing) for match in matches.found] == [
        ("Silk rope", ("burning",)),
        ("Hemp rope", ("reel",)),
    ]
    few = await index.search(OURS, Question.parse("silk reel"))
    assert [match.missing for match in few.found] == [(), ("reel",)]
    assert (await index.search(OURS, Question.parse('"rope of hemp" reel'))).found[0].missing == ("reel",)


async def test_passages_have_headings_and_links_that_scroll(database: Database) -> None:
    said = (
        "Ropes Ropes are long. Silk A silk rope is spun from thread. Hemp A hemp rope is laid. " + "x " * 900
    )
    headings = tuple(
        TextHeading(said.index(name), len(name), level, anchor)
        for name, level, anchor in (("Ropes ", 1, "ropes"), ("Silk ", 2, "silk"), ("Hemp ", 2, ""))
    )
    index = await noted(database, [page("ropes", said, "Ropes", headings=headings)])
    (silk,) = (await index.search(OURS, Question.parse("spinning silk thread"))).found
    first = silk.passages[0]
    assert (first.headings, first.url) == (("Ropes", "Silk"), "https://example.com/ropes#silk")
    assert "A **silk** rope is spun from **thread**." in first.snippet
    (hemp,) = (await index.search(OURS, Question.parse("hemp laid"))).found
    assert hemp.passages[0].url == "https://example.com/ropes#:~:text=hemp%20rope%20is%20laid.%20x"


async def test_pages_of_earlier_releases_are_found(database: Database) -> None:
    """They have words instead of stems, and no weights."""
    index = await noted(database, [page("old", "many ropes of silk"), page("new", "one rope of silk")])
    async with database.write() as connection:
        old = select(search_pages.c.id).where(search_pages.c.url.like("%old"))
        number = await connection.scalar(old)
        await connection.execute(delete(search_weights).where(search_weights.c.id == number))
    assert set(await found(index, "silk ropes")) == {"old", "new"}
