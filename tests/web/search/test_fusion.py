"""Several rankings become one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.search.fusion import SearchHit, fuse


def hits(*urls: str) -> list[SearchHit]:
    return [
        SearchHit(url=url if "://" in url else f"https://{url}.example/", title=url, snippet="")
        for url in urls
    ]


def test_what_several_have_comes_first() -> None:
    joined = fuse({"one": hits("a", "b", "c"), "two": hits("d", "b")}, 10)
    assert [ranked.hit.title for ranked in joined] == ["b", "a", "d", "c"]
    assert [ranked.source for ranked in joined] == ["one", "one", "two", "one"]


def test_first_with_all_of_them_is_1() -> None:
    joined = fuse({"one": hits("a", "b"), "two": hits("a")}, 10)
    assert joined[0].score == pytest.approx(1.0)
    assert 0 < joined[1].score < 0.5


def test_spellings_of_a_url_are_one_page_and_the_higher_one_is_shown() -> None:
    other = "http://a.example/?utm_source=x#top"
    joined = fuse({"one": hits("b", other), "two": hits("a", "https://a.example")}, 10)
    assert [(ranked.hit.title, ranked.source) for ranked in joined] == [("a", "two"), ("b", "one")]


def test_what_cannot_be_visited_is_left_out() -> None:
    assert fuse({"one": hits("javascript://x/%0aalert(1)", "ftp://a/", "https://user:pw@a/")}, 10) == []
    assert fuse({}, 10) == []


@given(st.dictionaries(st.sampled_from("xyz"), st.lists(st.sampled_from("abcdef"))), st.integers(1, 5))
def test_scores_fall_and_no_page_is_there_twice(rankings: dict[str, list[str]], limit: int) -> None:
    joined = fuse({name: hits(*urls) for name, urls in rankings.items()}, limit)
    scores = [ranked.score for ranked in joined]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1.000001 for score in scores)
    assert len({ranked.hit.url for ranked in joined}) == len(joined) <= limit
