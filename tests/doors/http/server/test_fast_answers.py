"""Cached answers on the fast path: they equal those of the ordinary path, but for what is new each time."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from tests.doors.fetches import Fetching, fetching_on_each_hot, open_fetching, say
from tests.doors.http.server.test_fast_path import Answer, Line, Served, Watched, lasting, serving
from tests.doors.services import ADMIN_KEY

from gossamer.state.cache import START_BYTES, Cache, CachedAnswer

__all__ = ["fetching_on_each_hot", "open_fetching"]

PAGE = (
    "<title>Orb webs</title><h1>Orb webs</h1>"
    + "<p>Orb weavers build a new web every day, mostly at night.</p>" * 9
)


@pytest.fixture
async def served(fetching_on_each_hot: Fetching) -> AsyncIterator[Served]:
    async with serving(fetching_on_each_hot.visit) as opened:
        yield opened


@pytest.fixture
def target(fetching_on_each_hot: Fetching) -> str:
    return fetching_on_each_hot.site.url(say(PAGE))


def asked(url: str, *fields: str, path: str = "/fetch", **body: Any) -> bytes:
    sent = json.dumps({"url": url, "cache": True, **body}).encode()
    head = [
        f"POST {path} HTTP/1.1",
        "Host: gossamer.example",
        f"Authorization: Bearer {ADMIN_KEY}",
        "Content-Type: application/json",
        f"Content-Length: {len(sent)}",
        *fields,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + sent


async def made_and_repeated(line: Line, request: bytes) -> tuple[Answer, Answer]:
    """A miss, a hit, and the hit once more."""
    missed, hit, again = [await line.ask(request) for _ in range(3)]
    assert [answer.status for answer in (missed, hit, again)] == [200] * 3
    return hit, again


async def test_a_cached_page_says_the_same_again(
    served: Served, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    hit, again = await made_and_repeated(line, asked(target, formats=["markdown", "links", "html"]))
    assert (watched.answered, watched.fell_back) == (1, 0)
    assert again.fields[b"x-cache-status"] == b"HIT"
    assert set(hit.fields) == set(again.fields)
    assert lasting(hit.fields) == lasting(again.fields)
    one, other = json.loads(hit.body), json.loads(again.body)
    assert other["requestId"] == again.fields[b"x-request-id"].decode() != one["requestId"]
    assert {**one, "requestId": "", "cache": ""} == {**other, "requestId": "", "cache": ""}


async def test_its_age_grows_and_it_expires(
    served: Served, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    hit, _ = await made_and_repeated(line, asked(target, maxAge=1_000))
    cache: Cache = served.fast_path.cache
    now = cache._clock()
    monkeypatch.setattr(cache, "_clock", lambda: now + 900)
    older = json.loads((await line.ask(asked(target, maxAge=1_000))).body)
    assert older["cache"]["age"] in range(900, 960)
    assert older["cache"] == {**json.loads(hit.body)["cache"], "age": older["cache"]["age"]}
    assert watched.answered == 2
    monkeypatch.setattr(cache, "_clock", lambda: now + 1_100)
    assert (await line.ask(asked(target, maxAge=1_000))).fields[b"x-cache-status"] == b"MISS"
    assert (watched.answered, watched.fell_back) == (2, 1)


async def test_what_was_kept_since_is_served(
    served: Served, fetching_on_each_hot: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, where = fetching_on_each_hot.site, say(PAGE)
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    await made_and_repeated(line, asked(site.url(where)))
    say(PAGE.replace("Orb webs", "Sheet webs"), target=where)
    await line.ask(asked(site.url(where), maxAge=0))
    answer = json.loads((await line.ask(asked(site.url(where)))).body)
    assert (answer["title"], answer["cache"]["hit"]) == ("Sheet webs", True)
    assert (watched.answered, watched.fell_back) == (1, 1)


async def test_text_for_a_model_has_a_boundary_of_its_own_each_time(
    served: Served, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    request = asked(target, formats=["llm"])
    await line.ask(request)
    texts = [json.loads((await line.ask(request)).body)["content"] for _ in range(4)]
    assert watched.answered == 3
    boundaries = [text.partition("<<<")[2].partition("\n")[0] for text in texts]
    assert len(set(boundaries)) == 4
    assert [text.count(boundary) for text, boundary in zip(texts, boundaries, strict=True)] == [2] * 4
    assert len({text.replace(boundary, "") for text, boundary in zip(texts, boundaries, strict=True)}) == 1


@pytest.mark.parametrize(
    ("path", "fields", "body"),
    [
        ("/fetch", ["Accept: text/markdown"], {}),
        ("/extract", [], {"schema": {"type": "object", "properties": {"title": {"type": "string"}}}}),
        ("/fetch?format=llm", ["Accept: text/markdown"], {}),
    ],
)
async def test_every_kind_of_cached_answer_is_repeated(
    served: Served,
    target: str,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    fields: list[str],
    body: dict[str, Any],
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    hit, again = await made_and_repeated(line, asked(target, *fields, path=path, **body))
    assert (watched.answered, watched.fell_back) == (1, 0)
    assert lasting(hit.fields) == lasting(again.fields)
    assert int(again.fields[b"content-length"]) == len(again.body)


async def test_get_fetch_says_how_long_it_may_be_kept(
    served: Served, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    hit, again = await made_and_repeated(line, got(f"/fetch?url={quote(target, safe='')}&cache=true"))
    assert (watched.answered, watched.fell_back) == (1, 0)
    assert hit.fields.keys() == again.fields.keys()
    cache: Cache = served.fast_path.cache
    now = cache._clock()
    monkeypatch.setattr(cache, "_clock", lambda: now + 900)
    older = await line.ask(got(f"/fetch?url={quote(target, safe='')}&cache=true"))
    assert kept_for(hit) - kept_for(older) in range(900, 960)
    known = f"If-None-Match: {hit.fields[b'etag'].decode()}"
    unchanged = [
        await line.ask(got(f"/fetch?url={quote(target, safe='')}&cache=true", known)) for _ in range(2)
    ]
    assert [answer.status for answer in unchanged] == [304, 304]
    assert watched.answered == 3


def got(path: str, *fields: str) -> bytes:
    head = [f"GET {path} HTTP/1.1", "Host: gossamer.example", f"Authorization: Bearer {ADMIN_KEY}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n"


def kept_for(answer: Answer) -> int:
    return int(answer.fields[b"cache-control"].removeprefix(b"private, max-age="))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/scrape", {"formats": ["markdown"], "maxAge": 1_000_000}),
        ("/r/", {}),
        ("/tavily/extract", {"urls": "{url}"}),
        ("/md", {"c": "1"}),
        ("/crawl", {"urls": ["{url}"], "crawler_config": {"cache_mode": "enabled"}}),
    ],
)
async def test_doors_for_other_clients_repeat_what_they_translate(
    served: Served, target: str, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    named = json.loads(json.dumps(body).replace("{url}", target))
    request = posted(path, named if "urls" in named else {"url": target, **named})
    hit, again = await made_and_repeated(line, request)
    assert (watched.answered, watched.fell_back) == (1, 0)
    assert lasting(hit.fields) == lasting(again.fields)
    assert int(again.fields[b"content-length"]) == len(again.body)
    assert without_changes(hit) == without_changes(again)


def posted(path: str, body: dict[str, Any]) -> bytes:
    sent = json.dumps(body).encode()
    head = [
        f"POST {path} HTTP/1.1",
        "Host: gossamer.example",
        f"Authorization: Bearer {ADMIN_KEY}",
        "Content-Type: application/json",
        "Accept: application/json",
        f"Content-Length: {len(sent)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + sent


def without_changes(answer: Answer) -> bytes:
    body = re.sub(rb"wl_[a-z0-9_]+", b"", answer.body)
    return re.sub(rb'"(response_time|server_processing_time_s)":[0-9.e-]+', b"", body)


async def test_the_readers_options_in_headers_decide(
    served: Served, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = await served.line()
    plain, text = got(f"/r/{target}"), got(f"/r/{target}", "X-Return-Format: text")
    whole, _ = await made_and_repeated(line, plain)
    watched = Watched(served.fast_path, monkeypatch)
    assert (await line.ask(text)).body != whole.body
    assert (await line.ask(text)).body != whole.body
    assert (await line.ask(plain)).body == whole.body
    traced = got(f"/r/{target}", "X-Request-Id: 7")
    assert (await line.ask(traced)).body == whole.body
    assert watched.answered >= 2


async def test_pages_that_were_read_together_are_not_repeated(
    served: Served, fetching_on_each_hot: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them may change alone."""
    watched = Watched(served.fast_path, monkeypatch)
    line = await served.line()
    urls = [fetching_on_each_hot.site.url(say(PAGE)) for _ in range(2)]
    await made_and_repeated(line, posted("/tavily/extract", {"urls": urls}))
    assert (watched.answered, watched.fell_back) == (0, 0)


async def test_a_page_cannot_choose_what_changes(
    served: Served, fetching_on_each_hot: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own data may look like the answer's."""
    line = await served.line()
    plain = fetching_on_each_hot.site.url(say(PAGE))
    key = json.loads((await made_and_repeated(line, asked(plain)))[0].body)["cache"]["key"]
    data = json.dumps({"@type": "Thing", "cache": {"hit": True, "key": key, "age": 7}}, separators=(",", ":"))
    page = f'{PAGE}<script type="application/ld+json">{data}</script>'
    hit, again = await made_and_repeated(line, asked(fetching_on_each_hot.site.url(say(page))))
    one, other = json.loads(hit.body), json.loads(again.body)
    assert one["metadata"] == other["metadata"]


async def test_it_is_logged_and_counted_as_a_hit(served: Served, target: str) -> None:
    line = await served.line()
    await made_and_repeated(line, asked(target))
    logged = [entry for entry in served.visit.logged("request") if entry["endpoint"] == "/fetch"]
    assert [entry["cacheHit"] for entry in logged] == [False, True, True]
    text = served.visit.service.metrics.exposition.text()[0].decode()
    assert 'gossamer_answer_cache_total{endpoint="fetch",result="hit"} 2.0' in text


def test_an_answer_is_told_by_its_start() -> None:
    kept = CachedAnswer(1.5, 2.5, b"value")
    assert len(kept.start) == START_BYTES
    assert msgspec.msgpack.encode(kept).startswith(kept.start)
