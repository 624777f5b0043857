"""What candidate steps promise: common words among many pages are looked for in the newest, and if that finds
too little, in all."""

import io

import pytest
from sqlalchemy import text
from tests.contract.search.test_search_index import NOW, OURS, THEIRS, page

from gossamer.observe.logs import Log
from gossamer.state.db.database import Database
from gossamer.state.search import candidate_steps as steps
from gossamer.state.search.candidate_steps import IndexExtent, StepKind, bounded
from gossamer.state.search.search_index import SearchIndex
from gossamer.web.search.question import Question
from gossamer.web.search.terms import Term


def term(word: str, weight: float, *, is_firm: bool = False) -> Term:
    return Term(word, ((word,),), weight, is_firm)


COMMON, RARE = 0.1, 9.0  # weights


def test_few_pages_are_all_looked_at() -> None:
    extent = IndexExtent(pages=5_000, last=5_000)
    terms = (term("silk", COMMON), term("rope", COMMON))
    planned = steps.candidate_steps(terms, extent)
    assert bounded(planned, terms, extent) == planned


def test_common_words_among_many_pages_are_looked_for_in_the_newest() -> None:
    extent = IndexExtent(pages=1_000_000, last=2_000_000)
    terms = (term("silk", COMMON),)
    (first, *_) = bounded(steps.candidate_steps(terms, extent), terms, extent)
    newest = (extent.last - first.candidates.after) / extent.last * extent.pages
    assert 0.9 * steps.MAX_LOOKED_AT < newest < 1.2 * steps.MAX_LOOKED_AT


def test_a_rare_word_among_many_pages_is_looked_for_in_all() -> None:
    extent = IndexExtent(pages=1_000_000, last=1_000_000)
    terms = (term("silk", COMMON), term("rope", RARE))
    (first, second, *_) = bounded(steps.candidate_steps(terms, extent), terms, extent)
    assert (first.candidates.after, second.candidates.after) == (0, 0)


def test_what_few_pages_have_needs_no_step_for_those_that_are_about_it() -> None:
    extent = IndexExtent(pages=1_000_000, last=1_000_000)
    terms = tuple(term(word, RARE) for word in ("silk", "rope", "knot"))
    (first, *_) = steps.candidate_steps(terms, extent)
    assert first.kind is StepKind.SOME
    assert StepKind.ABOUT_ALL in first.covers


async def test_older_pages_are_found_if_the_newest_have_too_few(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "MAX_LOOKED_AT", 5)
    index = SearchIndex(database, Log(io.StringIO()), max_pages=1_000_000, clock=lambda: NOW)
    for number in range(8):
        index.note(OURS, page(f"old{number}", "silk rope"))
    await index.flush()
    async with database.write() as connection:  # as if thousands had come between
        await connection.execute(text("UPDATE search_tenants SET pages = 100000"))
    for number in range(40):
        index.note(OURS, page(f"new{number}", "silk"))
    await index.flush()
    found = (await index.search(OURS, Question.parse("silk rope", limit=5))).found
    assert {match.url.rpartition("/")[2][:3] for match in found} == {"old"}
    newest = (await index.search(OURS, Question.parse("silk", limit=3))).found
    assert all("/new" in match.url for match in newest)


async def test_filters_hold_among_the_newest_pages(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "MAX_LOOKED_AT", 5)
    index = SearchIndex(database, Log(io.StringIO()), max_pages=1_000_000, clock=lambda: NOW)
    index.note(THEIRS, page("theirs", "silk"))
    for number in range(4):
        index.note(OURS, page(f"silk{number}", "silk"))
        index.note(OURS, page(f"hemp{number}", "silk hemp"))
        index.note(OURS, page(f"https://b.example/{number}", "silk"))
    await index.flush()
    asked = Question.parse("silk -hemp site:example.com", limit=4)
    async with database.write() as connection:  # as if there were thousands
        await connection.execute(text("UPDATE search_tenants SET pages = 100000"))
    found = (await index.search(OURS, asked)).found
    assert sorted(match.url for match in found) == [
        f"https://example.com/silk{number}" for number in range(4)
    ]
