"""What people write when they search, and what becomes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.problems import Problem
from gossamer.web.search.hits import HitFinder
from gossamer.web.search.question import MAX_WORDS, Question
from gossamer.web.search.snippet import MatchSpan, beginning, excerpt
from gossamer.web.search.terms import terms_of
from gossamer.web.search.words import align, clean, words

PARSED = {
    "silk rope": ([["silk"], ["rope"]], []),
    '"silk rope" reel': ([["silk rope"], ["reel"]], []),
    '"never closed': ([["never closed"]], []),
    'a"b c"d': ([["a"], ["b c"], ["d"]], []),
    "silk OR hemp rope": ([["silk", "hemp"], ["rope"]], []),
    "a OR b OR c": ([["a", "b", "c"]], []),
    "a | b": ([["a", "b"]], []),
    "or": ([["or"]], []),
    "OR a OR OR b OR": ([["a", "b"]], []),
    "a OR -b c": ([["a"], ["c"]], ["b"]),
    '-"a b" c': ([["c"]], ["a b"]),
    "- a -- b": ([["a"], ["b"]], []),
    "well-known": ([["well known"]], []),
    "site:nonsense/x a": ([["site nonsense x"], ["a"]], []),
    "-site:example.com a": ([["a"]], ["site example com"]),
    "title:a NEAR(b) c* ^d": ([["title a"], ["near b"], ["c"], ["d"]], []),
    "wor* foo_ba*": ([["wor*"], ["foo ba*"]], []),
    "": ([], []),
}


@pytest.mark.parametrize("text", PARSED)
def test_questions(text: str) -> None:
    question = Question.parse(text)
    shown = [[" ".join(phrase) for phrase in choice] for choice in question.all_of]
    assert (shown, [" ".join(phrase) for phrase in question.none_of]) == PARSED[text]


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    question = Question.parse(text)
    said = [word for phrase in (*question.phrases, *question.none_of) for word in phrase]
    assert len(said) <= MAX_WORDS
    assert all(word and not set(word.removesuffix("*")) & set("\"'\\()*:^ \0") for word in said)


def test_where_and_when() -> None:
    question = Question.parse("rope site:*.Example.COM.", language="zh-Hant", recency="day")
    assert (question.text, question.site, question.language) == ("rope", "example.com", "zh")
    assert question.since(1_000_000.0) == 913_600.0
    hosts = ["example.com", "a.example.com", "notexample.com", "example.com.evil.example"]
    assert [question.is_on_site(host) for host in hosts] == [True, True, False, False]
    assert Question.parse("a site:a.example", site="b.example").site == "b.example"


@pytest.mark.parametrize("site", ["a/b", "http://a", "a:8080", "a b", "user@a", "?", "a#b", "*"])
def test_what_is_no_site(site: str) -> None:
    with pytest.raises(Problem, match="no host name"):
        Question.parse("a", site=site)


def test_words_in_any_language() -> None:
    said = "Héllo Wörld don't ﬁne Straße x\u00adyz İ Ⅳ 東京abc हिन्दी ภาษา مُحَمَّد が foo_bar 1,5"
    assert words(said, 100) == [
        "hello", "world", "don", "t", "fine", "strasse", "xyz", "i", "iv", "東", "京", "abc", "हिन्दी",
        "ภ", "า", "ษ", "า", "محمد", "が", "foo", "bar", "1", "5",
    ]  # fmt: skip
    assert words("a b c", 2) == ["a", "b"]
    assert words("x" * 100, 1) == ["x" * 64]


@given(st.text())
def test_words_of_words_are_the_same_and_clean_texts_stay_clean(text: str) -> None:
    found = words(text, 1_000)
    assert words(" ".join(found), 1_000) == found
    cleaned = clean(text, 1_000)
    assert clean(cleaned, 1_000) == cleaned
    assert len(align(cleaned)) == len(cleaned)


def snippet(text: str, query: str, max_chars: int = 240) -> str | None:
    terms = terms_of(Question.parse(query), ("en",), lambda _: 1.0)
    spans = [MatchSpan(hit.start, hit.end) for hit in HitFinder(terms).find(text, "en")]
    return excerpt(text, spans, max_chars) if spans else None


def test_a_snippet_is_where_the_most_different_words_are() -> None:
    text = "silk " * 30 + "and then much later there is a Sílk rope to be had, by the way, " + "word " * 100
    shown = snippet(text, "silk ropes")
    assert shown is not None
    assert "a **Sílk** **rope** to be had" in shown
    assert snippet(text, "hemp") is None
    assert snippet("塔は東京都にある", "東京") == "塔は**東京**都にある"
    assert snippet("in東京 and silken silk", "東京 silk") == "in**東京** and silken **silk**"
    assert snippet("a ** b **silk**", "silk") == "a  b **silk**"
    assert beginning("word " * 100, 12) == "word word…"


@given(
    st.text(alphabet="ab 東*é.", max_size=400), st.lists(st.sampled_from(["a", "ab", "東", "b"]), max_size=3)
)
def test_snippets_are_bounded_and_of_the_text(text: str, wanted: list[str]) -> None:
    text = clean(text, 400)
    shown = snippet(text, " ".join(wanted), 60)
    for one in (shown, beginning(text, 60)):
        if one is not None:
            bare = one.replace("**", "").strip("…")
            assert bare in text.replace("**", "")
            assert len(bare) <= 60 + 3
            assert one.count("**") % 2 == 0
