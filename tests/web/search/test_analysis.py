"""How much a page is about what is asked for, and which words count as having it."""

import pytest

from gossamer.web.search.analysis import PageTexts, analyse, level_of
from gossamer.web.search.languages import guess_language, stem
from gossamer.web.search.question import Question
from gossamer.web.search.spelling import distance, variants
from gossamer.web.search.terms import languages_of, standing, terms_of

LONG = "word " * 2_000


def score(
    query: str, text: str = "x", title: str = "", headings: tuple[str, ...] = (), about: str = ""
) -> float:
    terms = terms_of(Question.parse(query), ("en",), lambda _: 1.0)
    page = PageTexts("https://example.com/", title, headings, about, text, "en")
    return standing(analyse(page).weights, terms).score


def test_titles_say_more_than_headings_and_these_more_than_texts() -> None:
    scores = [
        score("silk rope", title="Silk ropes"),
        score("silk rope", headings=("Silk rope",)),
        score("silk rope", about="A silk rope."),
        score("silk rope", "one silk rope"),
        score("silk rope", "one silk"),
        score("silk rope", f"{LONG} silk"),
        score("silk rope", "silken hemp"),
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 7
    assert scores[-1] == 0.0


def test_stop_words_are_never_required() -> None:
    question = Question.parse("how do I undo the last commits")
    assert languages_of(question, ("de",)) == ("en",)
    assert [term.said for term in terms_of(question, ("en",), lambda _: 1.0)] == ["undo", "last", "commits"]
    assert [term.said for term in terms_of(Question.parse("who is"), ("en",), lambda _: 1.0)] == ["who", "is"]


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", ["commit", "commits", "committed", "committing"]),
        ("en", ["serialise", "serialize", "serialisation", "serialization"]),
        ("en", ["organised", "organized", "organising"]),
        ("en", ["precise", "precision"]),
        ("de", ["haus", "hauser", "hausern"]),
        ("ru", ["красныи", "красные", "красного"]),
        ("es", ["cancion", "canciones"]),
    ],
)
def test_forms_of_a_word_share_a_stem(language: str, forms: list[str]) -> None:
    assert len({stem(form, language) for form in forms}) == 1


def test_a_page_without_a_language_is_guessed_by_its_stop_words() -> None:
    said = "this is the way that the rope was made and it is what we have"
    assert guess_language(said.split()) == "en"
    assert guess_language(["seil", "tau", "leine", "strick"]) == ""
    assert analyse(PageTexts("https://example.com/", "", (), "", f"{said} spinning", "")).language == "en"


def test_levels_are_of_whole_terms() -> None:
    weights = analyse(
        PageTexts("https://example.com/git-reset.html", "", (), "", "rope roped silk", "xx")
    ).weights
    assert level_of(weights, "rope") == level_of(weights, "silk") > 0
    assert level_of(weights, "rop") == 0
    assert level_of(weights, "rop", is_prefix=True) > 0
    assert level_of(weights, "reset") > level_of(weights, "rope")


def test_typing_errors() -> None:
    assert {"silk", "sikl"} <= {*variants("silkk"), *variants("slik"), *variants("ikl")}
    pairs = {("repositry", "repository"): 1, ("sikl", "silk"): 1, ("aritmetik", "arithmetic"): 2}
    assert {pair: distance(*pair) for pair in pairs} == pairs
    assert distance("silk", "sole") == 3  # two errors are too many in a short word
