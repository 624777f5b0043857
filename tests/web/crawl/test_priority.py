"""Priorities: the three levels, rule by rule."""

import pytest

from gossamer.web.crawl.priority import DEEP, HIGH, LOW, MEDIUM, SHALLOW, priority_of
from gossamer.web.url.url import Url

SITE = "https://site.example"


def level(target: str, depth: int) -> int:
    return priority_of(Url.parse(SITE + target), depth)


def test_seeds_and_homepages_are_high_however_deep() -> None:
    assert level("/", 9) == level("", 9) == HIGH
    assert priority_of(Url.parse(f"{SITE}/archive/?page=3"), 0, seed=True) == HIGH


def test_content_is_high_when_it_is_near_and_low_when_it_is_far() -> None:
    levels = [level("/about", depth) for depth in (0, 1, SHALLOW, SHALLOW + 1, DEEP - 1, DEEP, 10)]
    assert levels == [HIGH, HIGH, HIGH, MEDIUM, MEDIUM, LOW, LOW]
    assert level("/a/b/c/d/e/f/g/h/i", 3) == LOW


@pytest.mark.parametrize(
    "target",
    [
        "/page/2",
        "/blog/page-12/",
        "/seite3.html",
        "/archive/",
        "/archives/2019",
        "/tag/python",
        "/category/news/",
        "/author/jane",
        "/2019/",
        "/2019/05/",
        "/2019/05/01",
        "/search?x",
        "/list?page=2",
        "/list?x=1&offset=20",
        "/list?SORT=price",
        "/list?orderby=date",
        "/post?replytocom=5",
        "/x?a=1&b=2&c=3&d=4&e=5",
    ],
)
def test_what_lists_other_pages_is_low_even_when_it_is_near(target: str) -> None:
    assert level(target, 1) == LOW
    assert level(target, 9) == LOW


@pytest.mark.parametrize(
    "target",
    [
        "/pages",
        "/homepage/team",
        "/blog/2019/05/01/a-post",
        "/2019-in-review",
        "/p/12345",
        "/?p=12",
        "/staging",
        "/research/",
        "/x?id=5",
        "/x?subpage=2",
    ],
)
def test_what_only_looks_like_a_listing_is_content(target: str) -> None:
    assert level(target, 1) == HIGH
    assert level(target, 4) == MEDIUM
