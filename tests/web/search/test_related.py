"""What a question may mean with other words, and which of its words say little."""

import pytest

from gossamer.web.search.analysis import PageTexts, analyse
from gossamer.web.search.hits import HitFinder
from gossamer.web.search.languages import STOP_WORDS
from gossamer.web.search.question import Question
from gossamer.web.search.related import LIGHT_WORDS, is_light, related_to
from gossamer.web.search.terms import LIGHT, Standing, Term, standing, terms_of
from gossamer.web.search.words import words

ENGLISH = ("en",)


def terms(query: str, rarities: dict[str, float] | None = None) -> tuple[Term, ...]:
    known = rarities or {}
    return terms_of(Question.parse(query), ENGLISH, lambda said: min(known.get(one, 2.0) for one in said))


def standing_of(query: str, text: str) -> Standing:
    page = PageTexts("https://example.com/", "", (), "", text, "en")
    return standing(analyse(page).weights, terms(query))


def test_a_related_word_counts_less_and_is_still_missing() -> None:
    said = standing_of("empty a folder quietly", "empty the folder quietly")
    related = standing_of("empty a folder quietly", "empty the directory quietly")
    without = standing_of("empty a folder quietly", "empty the kettle quietly")
    assert said.score > related.score > without.score
    assert [one.missing for one in (said, related, without)] == [(), (1,), (1,)]


@pytest.mark.parametrize(
    "query", ["empty folder", 'tidy a "folder" now', "folder OR drawer tidy", "what is a folder"]
)
def test_short_questions_and_operators_are_taken_literally(query: str) -> None:
    assert all(not term.related for term in terms(query) if "folder" in term.said)


def test_a_word_for_which_pages_have_a_common_one_weighs_less() -> None:
    rare, common = 8.0, 2.0
    (_, folder, _) = terms("empty the folder quietly", {"folder": rare, "directori": common})
    assert folder.weight == (rare + common) / 2
    assert folder.share == pytest.approx(2.718**-common, rel=0.01)


def test_words_that_say_little_weigh_less_in_a_longer_question() -> None:
    (something, *others) = terms("something breaks the build")
    assert something.weight == LIGHT * 2.0
    assert all(term.weight > something.weight for term in others)
    assert terms("something broken")[0].weight == 2.0


def test_hits_are_what_is_related_where_the_word_is_missing() -> None:
    asked = terms("empty a folder quietly")
    text = "empty the directory, or a folder"
    finder = HitFinder(asked)
    assert [text[hit.start : hit.end] for hit in finder.find(text, "en")] == ["empty", "folder"]
    assert [text[hit.start : hit.end] for hit in finder.find(text, "en", (1,))] == ["empty", "directory"]


def test_related_words_are_stems_of_each_other() -> None:
    assert "directori" in related_to("folders", ENGLISH)
    assert "folder" in related_to("directory", ENGLISH)
    assert related_to("ordner", ("de",)) == ()


def test_light_words_are_folded_and_no_stop_words() -> None:
    light = LIGHT_WORDS["en"]
    assert [word for word in light if words(word, 2) != [word]] == []
    assert not light & STOP_WORDS["en"]
    assert is_light("somebody", ENGLISH)
