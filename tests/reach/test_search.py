"""SearXNG and Brave, as far as their answers can be had."""

from collections.abc import AsyncIterator

import pytest
from tests.servers.search_engines import KEY, SILENT, Engines, Page, Raw, Said, Status, search_engines

from gossamer.problems import Unavailable
from gossamer.reach.services.search import Brave, Provider, SearXNG
from gossamer.web.search.fusion import SearchHit
from gossamer.web.search.question import Question

ROPE = Question.parse('"silk rope" -hemp')
NAMES = ("searxng", "brave")


@pytest.fixture
async def engines() -> AsyncIterator[Engines]:
    async with search_engines() as opened:
        yield opened


def provider(name: str, engines: Engines, *, key: str = KEY, seconds: float = 5.0) -> Provider:
    if name == "brave":
        return Brave(key, engines.url, "Gossamer/test", seconds=seconds)
    return SearXNG(f"{engines.url}/instance", "Gossamer/test", seconds=seconds)


async def asked(
    name: str, engines: Engines, question: Question = ROPE, seconds: float = 5.0
) -> list[SearchHit]:
    opened = provider(name, engines, seconds=seconds)
    try:
        return await opened.search(question)
    finally:
        await opened.close()


@pytest.mark.parametrize("name", NAMES)
async def test_what_they_find(engines: Engines, name: str) -> None:
    engines.searxng = engines.brave = [
        Page("https://a.example/", "A &amp; <strong>B</strong>", "The <strong>silk</strong> rope&#39;s end"),
        Page(
            "https://b.example/",
            "T\x00\u202e\u200b\x1b[31m",
            "<script>x</script> **y** 1 < 2",
            "2026-01-02T03:04:05",
        ),
        Page("javascript:alert(1)"),
    ]
    first, second, third = await asked(name, engines)
    assert first == SearchHit(url="https://a.example/", title="A & B", snippet="The **silk** rope's end")
    assert (second.title, second.snippet) == ("T [31m", "x y 1 < 2")
    assert second.published_at == 1_767_323_045.0
    assert third.url == "javascript:alert(1)"  # left out where rankings are joined
    engines.searxng = engines.brave = []
    assert await asked(name, engines) == []


async def test_each_is_asked_in_its_own_words(engines: Engines) -> None:
    narrowed = Question.parse(
        'rope "a b" site:docs.example.com é&=#', recency="week", language="pt-BR", limit=50
    )
    for name in NAMES:
        await asked(name, engines, narrowed)
        await asked(name, engines)
    assert engines.questions("searxng") == [
        {
            "q": 'rope "a b" é&=# site:docs.example.com',
            "format": "json",
            "safesearch": "0",
            "time_range": "week",
            "language": "pt",
        },
        {"q": '"silk rope" -hemp', "format": "json", "safesearch": "0"},
    ]
    assert engines.questions("brave") == [
        {
            "q": 'rope "a b" é&=# site:docs.example.com',
            "count": "20",
            "text_decorations": "true",
            "freshness": "pw",
            "search_lang": "pt-pt",
        },
        {"q": '"silk rope" -hemp', "count": "10", "text_decorations": "true"},
    ]


FAILURES: dict[str, tuple[Said, str]] = {
    "an error": (Status(500), "status 500"),
    "too many": (Status(429), "status 429"),
    "no json": (Status(200, body="<html>"), "not what was expected"),
    "another shape": ({"results": 7, "web": {"results": [{"title": "no url"}]}}, "not what was expected"),
    "deep": (Status(200, body='{"results": ' + "[" * 100_000), "not what was expected"),
    "a redirect": (Status(302, ("location: https://example.com/",)), "status 302"),
    "nothing": (Raw(b""), "connection closed"),
    "half": (Raw(b"HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{"), "incomplete"),
    "no http": (Raw(b"SSH-2.0-x\r\n\r\n"), "not http"),
    "far too much": (Raw(b"HTTP/1.1 200 X\r\ncontent-length: 9000000\r\n\r\n"), "too large"),
    "never": (SILENT, "whole timeout"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("failure", FAILURES)
async def test_failures_are_named_and_nothing_else(engines: Engines, name: str, failure: str) -> None:
    engines.searxng, why = FAILURES[failure]
    engines.brave = engines.searxng
    with pytest.raises(Unavailable, match=why):
        await asked(name, engines, seconds=0.3 if failure == "never" else 5.0)


@pytest.mark.parametrize("name", NAMES)
async def test_nobody_is_there(name: str) -> None:
    async with search_engines() as gone:
        pass
    with pytest.raises(Unavailable, match="connection refused"):
        await asked(name, gone)


async def test_searxng_with_its_json_switched_off_says_what_to_do(engines: Engines) -> None:
    engines.searxng = Status(403)
    with pytest.raises(Unavailable, match="is its JSON format switched on"):
        await asked("searxng", engines)


async def test_searxng_whose_engines_are_silent_has_not_found_nothing(engines: Engines) -> None:
    engines.unresponsive = [["google", "timeout"], ["bing", "access denied"]]
    with pytest.raises(Unavailable, match="google, bing"):
        await asked("searxng", engines)
    engines.searxng = [Page("https://a.example/")]
    assert len(await asked("searxng", engines)) == 1


async def test_the_key_is_in_no_error(engines: Engines) -> None:
    opened = provider("brave", engines, key="BSA-wrong-key")
    with pytest.raises(Unavailable) as caught:
        await opened.search(ROPE)
    await opened.close()
    assert "wrong" not in f"{caught.value} {caught.value.members} {caught.value.__cause__}"


async def test_a_connection_is_used_again(engines: Engines) -> None:
    opened = provider("searxng", engines)
    for _ in range(3):
        await opened.search(ROPE)
    await opened.close()
    assert engines.connections == 1
