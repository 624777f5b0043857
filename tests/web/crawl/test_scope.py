"""Scope: what belongs to a crawl, and for what reason something does not."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.problems import Problem
from gossamer.web.crawl.scope import Pattern, Reach, Scope
from gossamer.web.url.url import Url


@dataclass(frozen=True)
class Asked:
    seeds: tuple[str, ...] = ("https://www.site.example/docs/intro.html",)
    scope: Reach = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int = 10


def verdicts(asked: Asked, *urls: str, depth: int = 1) -> list[str]:
    scope = Scope.of(asked)
    return [scope.admits(Url.parse(url), depth) for url in urls]


def test_host() -> None:
    assert verdicts(
        Asked(),
        "https://www.site.example/",
        "http://www.site.example/x",
        "https://site.example/x",
        "https://site.example:443/x",
        "https://site.example:8443/x",
        "http://site.example:443/x",
        "https://blog.site.example/",
        "https://www.site.example.evil.example/",
    ) == ["", "", "", "", "other_host", "other_host", "other_host", "other_host"]


def test_domain() -> None:
    assert verdicts(
        Asked(scope="domain"),
        "https://site.example/",
        "http://blog.site.example:8080/x",
        "https://other.example/",
        "https://mysite.example/",
    ) == ["", "", "other_domain", "other_domain"]
    shared = Asked(scope="domain", seeds=("https://one.github.io/", "http://127.0.0.1:8000/"))
    assert verdicts(
        shared,
        "https://two.github.io/",
        "https://github.io/",
        "https://one.github.io/x",
        "http://127.0.0.1:9/",
        "http://127.0.1.1/",
    ) == [
        "other_domain",
        "other_domain",
        "",
        "",
        "other_domain",
    ]


def test_prefix() -> None:
    asked = Asked(scope="prefix")
    assert verdicts(
        asked,
        "https://site.example/docs/",
        "http://www.site.example/docs/a/b?c",
        "https://site.example/docs",
        "https://site.example/docs2/",
        "https://site.example/",
        "https://other.example/docs/",
    ) == ["", "", "other_prefix", "other_prefix", "other_prefix", "other_prefix"]
    whole = Asked(scope="prefix", seeds=("https://a.example",))
    assert verdicts(whole, "https://a.example/x", "https://a.example.b/") == ["", "other_prefix"]


def test_any_and_several_seeds() -> None:
    assert verdicts(Asked(scope="any", seeds=()), "https://anything.example/") == [""]
    several = Asked(seeds=("https://a.example/", "http://b.example:8080/"))
    assert verdicts(several, "https://a.example/x", "http://b.example:8080/", "http://b.example/") == [
        "",
        "",
        "other_host",
    ]


def test_depth_is_asked_first() -> None:
    scope = Scope.of(Asked(max_depth=2))
    home, other = Url.parse("https://site.example/"), Url.parse("https://other.example/")
    assert [scope.admits(home, depth) for depth in (0, 2, 3)] == ["", "", "too_deep"]
    assert scope.admits(other, 3) == "too_deep"


def test_include_and_exclude() -> None:
    asked = Asked(include=("/docs/*", "*://*/blog/*"), exclude=("*.pdf", "/docs/old/*", "*print=1*"))
    assert verdicts(
        asked,
        "https://site.example/docs/x",
        "https://site.example/blog/y#z",
        "https://site.example/shop",
        "https://site.example/docs/x.pdf",
        "https://site.example/docs/old/x",
        "https://site.example/docs/x?a=b&print=1",
        "https://other.example/docs/x",
    ) == ["", "", "not_included", "excluded", "excluded", "excluded", "other_host"]


@pytest.mark.parametrize(
    ("pattern", "target", "expected"),
    [
        ("/a", "/a", True),
        ("/a", "/a/", False),
        ("/a*", "/a?b", True),
        ("/a?b=*", "/a?b=c", True),
        ("/a?b", "/axb", False),
        ("*/b", "/a/b", True),
        ("*/b", "/a/bc", False),
        ("*q*q*", "/q", False),
        ("*q*q*", "/qq", True),
        ("/a*b*c", "/abc", True),
        ("/a*c*c", "/ac", False),
        ("https://site.example/*", "/x", True),
        ("https://site.example", "/", False),
        ("*", "/x", True),
        ("/**", "/x", True),
    ],
)
def test_patterns(pattern: str, target: str, expected: bool) -> None:
    url = Url.parse(f"https://site.example{target}")
    assert Pattern.of(pattern).matches(url, url.href) is expected


@given(st.text(st.sampled_from("ab*"), max_size=8), st.text(st.sampled_from("ab"), max_size=8))
def test_a_pattern_matches_what_a_plain_search_would(pattern: str, path: str) -> None:
    def plain(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return plain(pattern[1:], text) or (bool(text) and plain(pattern, text[1:]))
        return text[:1] == pattern[0] and plain(pattern[1:], text[1:])

    url = Url.parse(f"https://site.example/{path}")
    assert Pattern.of(f"/{pattern}").matches(url, url.href) is plain(f"/{pattern}", f"/{path}")


def test_no_pattern_takes_long() -> None:
    url = Url.parse("https://site.example/" + "a" * 2_000)
    assert not Pattern.of("/" + "*a" * 200 + "*b").matches(url, url.href)


def test_seeds_must_be_urls() -> None:
    with pytest.raises(Problem):
        Scope.of(Asked(seeds=("nowhere",)))
