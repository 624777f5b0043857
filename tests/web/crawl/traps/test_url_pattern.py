"""What URLs of one kind have in common."""

import pytest

from gossamer.web.crawl.traps.url_pattern import is_token, pattern_of
from gossamer.web.url.url import Url


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("/", "/"),
        ("/about", "/{word}"),
        ("/shop/12?size=4&Color=red", "/shop/{n}?color&size"),
        ("/2026/05/a-post.html", "/{n}/{n}/{word}.html"),
        ("/docs/api/list/", "/docs/{word}/{word}/"),
        ("/events/2026-05-17", "/events/{date}"),
        ("/s/5d41402abc4b2a76b9719d911017c592/p3", "/s/{token}/{word}"),
        ("/a?b&b=2&=3", "/{word}?&b"),
    ],
)
def test_a_pattern_names_what_varies(target: str, pattern: str) -> None:
    assert pattern_of(Url.parse(f"http://a{target}")).text == pattern


def test_a_family_is_the_same_at_every_depth() -> None:
    deep = [pattern_of(Url.parse(f"http://a/x{'/y' * depth}/z/?q=1")).family for depth in (2, 5)]
    assert deep == ["/{word}+/?q"] * 2
    assert pattern_of(Url.parse("http://a/x/z")).family == "/x/{word}"


@pytest.mark.parametrize("text", ["5d41402abc4b2a76b9719d911017c592", "dGhpc0lzMTIzQVRva2VuNDU2", "a1" * 8])
def test_what_a_machine_has_drawn_is_a_token(text: str) -> None:
    assert is_token(text)


@pytest.mark.parametrize(
    "text", ["introduction-to-python-3-11", "internationalization", "20260517093000123", "abc123", ""]
)
def test_words_and_numbers_are_no_tokens(text: str) -> None:
    assert not is_token(text)
