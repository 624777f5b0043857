"""What pages ask of robots, and to whom they say it."""

import pytest

from gossamer.web.robots.directives import Directives, directives_of

AGENT = "GossamerBot/1.0 (+https://bot.example)"


@pytest.mark.parametrize(
    ("content", "noindex", "nofollow"),
    [
        ("noindex", True, False),
        ("NoIndex , NOFOLLOW", True, True),
        ("none", True, True),
        ("nofollow noindex", True, True),
        ("index, follow", False, False),
        ("all, max-snippet:-1, noarchive", False, False),
        ("noindexed", False, False),
        ("", False, False),
    ],
)
def test_what_is_said_to_everyone(content: str, noindex: bool, nofollow: bool) -> None:
    expected = Directives(noindex, nofollow)
    assert directives_of([("robots", content)], [], AGENT) == expected
    assert directives_of([(" ROBOTS ", content)], [], AGENT) == expected
    assert directives_of([("gossamerbot", content)], [], AGENT) == expected
    assert directives_of([("googlebot", content)], [], AGENT) == Directives()


@pytest.mark.parametrize(
    ("header", "noindex", "nofollow"),
    [
        ("noindex", True, False),
        ("noindex, nofollow", True, True),
        ("gossamerbot: none", True, True),
        ("GossamerBot: noindex, nofollow", True, True),
        ("googlebot: noindex, nofollow", False, False),
        ("googlebot: noindex, gossamerbot: nofollow", False, True),
        ("otherbot: noindex, max-snippet: 20, nofollow", False, False),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", False, False),
        ("unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noindex", True, False),
        ("max-image-preview: large, noindex", True, False),
    ],
)
def test_what_is_said_in_headers(header: str, noindex: bool, nofollow: bool) -> None:
    assert directives_of([], [header], AGENT) == Directives(noindex, nofollow)


def test_everything_that_is_said_adds_up() -> None:
    found = directives_of([("robots", "nofollow"), ("robots", "all")], ["googlebot: none", "noindex"], AGENT)
    assert found == Directives(noindex=True, nofollow=True)
