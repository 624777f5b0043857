"""`POST /fetch` and `/fetch/basic`: a URL in, clean content out."""

import asyncio
import itertools
import json
import re
import socket
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doors.fetches import Fetching, OpenFetching, fetching, fetching_on_each_hot, open_fetching, say
from tests.doors.http.layers.test_problems import VALIDATOR, assert_problem
from tests.doors.services import AS_ADMIN, bearer
from tests.servers.valkey import Valkey
from tests.site.canary import canary
from tests.web.documents.pdf_files import pdf
from tests.web.outcome.outcome_pages import samples

__all__ = ["fetching", "fetching_on_each_hot", "open_fetching"]

numbers = itertools.count()
seed_property = settings(max_examples=100)

ARTICLE = """<!doctype html><html lang="en"><head><title>Orb webs</title>
<meta name="description" content="How spiders build."><meta name="author" content="A. Diadema">
<meta property="article:published_time" content="2024-05-06"><link rel="canonical" href="/webs">
</head><body><nav><a href="/home">Navigation of the site</a></nav><article><h1>Orb webs</h1>
<p>Orb weavers build a new web nearly every day, mostly at night, and eat the old one first.</p>
<h2>The spiral</h2><p>The <a href="spiral.html">capture spiral</a> is sticky; the radii are not, which is
what lets the builder run across it without being caught in its own work.</p>
<ul class="parts"><li>radii</li><li>spiral</li></ul></article><footer>Imprint and the like</footer></body>
</html>"""
FORMATS = {"markdown": "content", "html": "html", "rawHtml": "rawHtml", "text": "text", "links": "links"}


def fresh(path: str = "/ok") -> str:
    """A target that nobody has asked for before."""
    return f"{path}?fetch={next(numbers)}"


def seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


# The properties of the specification.

targets = st.sampled_from(
    [
        *("/ok", "/echo", "/gzip", "/redirect/2", "/charset/shift_jis", "/invalid-utf8"),
        *("/missing", "/status/403", "/empty", "/204", "/loop", "/stacked", "/drop"),
        *("http://localhost/", "http://10.0.0.1/", "http://nowhere.example/"),
        *("ftp://site.example/", "http://user:word@site.example/", "nonsense", ""),
    ]
)
options = st.fixed_dictionaries(
    {"timeout": st.integers(500, 900)},
    optional={
        "formats": st.lists(st.sampled_from([*FORMATS, "metadata", "nonsense"]), max_size=4),
        "mainContent": st.booleans(),
        "include": st.lists(st.sampled_from(["p", "div p", "a["]), max_size=1),
        "headers": st.dictionaries(st.sampled_from(["Cookie", "Host", "DNT"]), st.just("a=b"), max_size=2),
        "cacheTtl": st.integers() | st.sampled_from([None, "60", 1.5]),
        "unknown": st.none(),
    },
)


@seed_property
@given(target=targets, body=options)
async def test_p4_fetch_is_fetch_basic(fetching: Fetching, target: str, body: dict[str, Any]) -> None:
    one, other = [await fetching.post(target, path=path, **body) for path in ("/fetch", "/fetch/basic")]
    assert one.status_code == other.status_code
    assert one.headers.keys() == other.headers.keys()
    assert unchanging(one) == unchanging(other)


def unchanging(response: httpx.Response) -> dict[str, Any]:
    volatile = ("requestId", "fetchedAt", "fetchTime", "instance")
    return {name: value for name, value in response.json().items() if name not in volatile}


@seed_property
@given(target=targets, path=st.sampled_from(["/fetch", "/fetch/basic"]), cache=st.booleans())
async def test_p5_every_success_names_its_tier(
    fetching: Fetching, target: str, path: str, cache: bool
) -> None:
    response = await fetching.post(target, path=path, cache=cache, timeout=900)
    if response.status_code == 200:
        assert response.json()["tier"] == "basic"


@seed_property
@given(target=targets, ttl=st.integers(), repeats=st.integers(1, 3))
async def test_p7_the_metadata_of_the_cache_are_complete(
    fetching: Fetching, target: str, ttl: int, repeats: int
) -> None:
    for _ in range(repeats):
        response = await fetching.post(target, cache=True, cacheTtl=ttl, timeout=900)
        if response.status_code != 200:
            assert "x-cache-status" not in response.headers
            continue
        answer = response.json()
        cache = answer["cache"]
        assert response.headers["x-cache-status"] == ("HIT" if cache["hit"] else "MISS")
        assert re.fullmatch(r"weblens:fetch:[0-9a-f]{12}", cache["key"])
        assert ("expiresAt" in cache) == (answer["outcome"] == "ok")
        if cache["hit"]:
            assert cache["age"] >= 0
            assert seconds(cache["expiresAt"]) > seconds(answer["fetchedAt"])


@seed_property
@given(ttl=st.integers() | st.integers(0, 100_000) | st.sampled_from([59, 60, 61, 86_399, 86_400, 86_401]))
async def test_p8_ttl_is_clamped(fetching: Fetching, ttl: int) -> None:
    target = fresh()
    expected = min(max(ttl, 60), 86_400)
    for hit in (False, True):
        answer = await fetching.answer(target, cache=True, cacheTtl=ttl)
        lasts = seconds(answer["cache"]["expiresAt"]) - seconds(answer["fetchedAt"])
        assert answer["cache"]["hit"] is hit
        assert lasts == pytest.approx(expected, abs=1)


@seed_property
@given(
    ttl=st.none()
    | st.booleans()
    | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: number % 1 != 0)
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
    cache=st.booleans(),
)
async def test_p8_a_ttl_that_is_no_integer_is_refused(fetching: Fetching, ttl: object, cache: bool) -> None:
    assert_problem(await fetching.post(cacheTtl=ttl, cache=cache), "INVALID_TTL")


@seed_property
@given(target=targets, path=st.sampled_from(["/fetch", "/fetch/basic"]), body=options, cache=st.booleans())
async def test_p10_every_success_carries_its_id_and_its_time(
    fetching: Fetching, target: str, path: str, body: dict[str, Any], cache: bool
) -> None:
    response = await fetching.post(target, path=path, cache=cache, **body)
    if response.status_code == 200:
        assert re.fullmatch(r"wl_[0-9a-z]{6,}_[0-9a-z]{6}", response.headers["x-request-id"])
        assert response.json()["requestId"] == response.headers["x-request-id"]
        assert response.headers["x-processing-time"].isdigit()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    [
        *("url", "timeout", "cache", "cacheTtl", "maxAge", "formats", "mainContent"),
        *("include", "exclude", "headers"),
    ]
)


@seed_property
@given(
    body=st.dictionaries(names, anything, max_size=4) | anything,
    url=st.none() | targets | st.text(max_size=30),
    path=st.sampled_from(["/fetch", "/fetch/basic", "/fetch/none"]),
    key=st.sampled_from([AS_ADMIN, AS_ADMIN, bearer("sk_live_nobody-knows-this-one")]),
)
async def test_p11_every_error_has_all_its_fields(
    fetching: Fetching, body: Any, url: str | None, path: str, key: dict[str, str]
) -> None:
    if isinstance(body, dict):
        body = {**body, "timeout": 500}
        body |= {} if url is None else {"url": fetching.site.url(url) if url.startswith("/") else url}
    headers = {**key, "Content-Type": "application/json"}
    response = await fetching.visit.client.post(path, content=json.dumps(body).encode(), headers=headers)
    assert response.status_code in (200, 400, 401, 404, 502)
    if response.status_code != 200:
        document = response.json()
        VALIDATOR.validate(document)
        assert document["error"] == document["code"]
        assert document["message"] == document["detail"]
        assert document["requestId"] == response.headers["x-request-id"]
        assert not fetching.visit.logged("internal_error")


# The cache.


async def test_decision9_off_unless_it_is_asked_for(fetching: Fetching) -> None:
    target = fresh()
    for _ in range(2):
        response = await fetching.post(target)
        assert response.headers["x-cache-status"] == "BYPASS"
        assert "cache" not in response.json()
    assert fetching.visits(target) == 2


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/fetch", {"cache": True}, "MISS"),
        ("/fetch", {"cache": False}, "BYPASS"),
        ("/fetch", {"cache": None}, "BYPASS"),
        ("/fetch?cache=true", {}, "MISS"),
        ("/fetch/basic?cache=true", {}, "MISS"),
        ("/fetch?cache=1", {}, "MISS"),
        ("/fetch?cache=false", {}, "BYPASS"),
        ("/fetch?cache=false", {"cache": True}, "MISS"),
        ("/fetch?cache=true", {"cache": False}, "BYPASS"),
        ("/fetch", {"maxAge": 60}, "MISS"),
        ("/fetch", {"maxAge": 60, "cache": False}, "BYPASS"),
    ],
)
async def test_the_body_wins_over_the_address(
    fetching: Fetching, path: str, body: dict[str, Any], status: str
) -> None:
    response = await fetching.post(fresh(), path=path, **body)
    assert response.headers["x-cache-status"] == status


@pytest.mark.parametrize("query", ["cache=perhaps", "cache=true&cache=true", "cached=true"])
async def test_a_query_that_means_nothing(fetching: Fetching, query: str) -> None:
    assert_problem(await fetching.post(path=f"/fetch?{query}"), "VALIDATION_ERROR")


async def test_a_hit_is_what_was_kept(fetching_on_each_hot: Fetching) -> None:
    fetching, target = fetching_on_each_hot, say(ARTICLE)
    wanted = [*FORMATS, "metadata"]
    first = await fetching.post(target, path="/fetch", cache=True, formats=wanted)
    second = await fetching.post(target, path="/fetch/basic", cache=True, formats=wanted)
    assert (first.headers["x-cache-status"], second.headers["x-cache-status"]) == ("MISS", "HIT")
    assert fetching.visits(target) == 1
    one, other = unchanging(first), unchanging(second)
    assert other.pop("cache") == {**one.pop("cache"), "hit": True, "age": 0}
    assert one == other
    assert first.json()["fetchedAt"] == second.json()["fetchedAt"]
    assert first.json()["requestId"] != second.json()["requestId"]
    assert [line["cacheHit"] for line in fetching.visit.logged("request")] == [False, True]


async def test_max_age_takes_nothing_older(fetching: Fetching) -> None:
    target = fresh()
    await fetching.answer(target, cache=True)
    assert (await fetching.answer(target, maxAge=3600))["cache"]["hit"] is True
    assert (await fetching.answer(target, maxAge=0))["cache"]["hit"] is False
    assert (await fetching.answer(target, cache=True))["cache"]["hit"] is True
    assert fetching.visits(target) == 2


async def test_decision7_what_matters_is_in_the_key_and_nothing_else(fetching: Fetching) -> None:
    target = fresh()

    async def key(target: str = target, **body: Any) -> str:
        answer = await fetching.answer(target, cache=True, **body)
        return str(answer["cache"]["key"])

    same = await key()
    assert await key(timeout=900, cacheTtl=60) == same
    assert await key(target + "&utm_source=letter&gclid=1#part") == same
    assert await key(formats=["metadata", "markdown"]) == same
    assert fetching.visits(target) == 1
    others = [
        await key(target + "1"),
        await key(formats=["text"]),
        await key(mainContent=False),
        await key(include=["p"]),
        await key(exclude=["p"]),
        await key(headers={"Cookie": "a=b"}),
    ]
    assert len({same, *others}) == 7


async def test_decision10_tenants_are_kept_apart(fetching: Fetching) -> None:
    target, other = fresh(), bearer(await fetching.visit.key())
    statuses = [
        (await fetching.post(target, cache=True, sent=caller)).headers["x-cache-status"]
        for caller in (AS_ADMIN, other, AS_ADMIN, other)
    ]
    assert statuses == ["MISS", "MISS", "HIT", "HIT"]


CAPTCHA = next(sample for sample in samples() if sample.name == "blocked-hcaptcha-page").page.body


async def test_decision2_only_ok_is_kept_and_nothing_else_takes_its_place(fetching: Fetching) -> None:
    target = say(CAPTCHA)
    for _ in range(2):
        answer = await fetching.answer(target, cache=True)
        assert answer["outcome"] == "blocked"
        assert answer["cache"] == {"hit": False, "key": answer["cache"]["key"]}
    say(ARTICLE, target=target)
    assert (await fetching.answer(target, cache=True))["outcome"] == "ok"
    say(CAPTCHA, target=target)
    assert (await fetching.answer(target, maxAge=0))["outcome"] == "blocked"
    good = await fetching.answer(target, cache=True)
    assert (good["outcome"], good["cache"]["hit"]) == ("ok", True)


async def test_a_failure_is_not_kept_and_takes_nothing_away(fetching: Fetching) -> None:
    target = say(ARTICLE)
    await fetching.answer(target, cache=True)
    say(ARTICLE, "Content-Encoding: gzip, gzip", target=target)
    assert_problem(await fetching.post(target, maxAge=0), "FETCH_FAILED")
    assert (await fetching.answer(target, cache=True))["cache"]["hit"] is True


async def test_of_20_at_once_one_visits_the_target(fetching_on_each_hot: Fetching) -> None:
    fetching, target = fetching_on_each_hot, say(ARTICLE, pause=0.1)
    answers = await asyncio.gather(*(fetching.post(target, cache=True) for _ in range(20)))
    assert fetching.visits(target) == 1
    assert sorted(answer.headers["x-cache-status"] for answer in answers) == ["HIT"] * 19 + ["MISS"]
    assert len({answer.json()["content"] for answer in answers}) == 1


async def test_of_20_at_once_on_two_processes_one_visits_the_target(
    open_fetching: OpenFetching, own_valkey: Valkey
) -> None:
    target = say(ARTICLE, pause=0.1)
    async with (
        open_fetching(redis_url=own_valkey.url) as one,
        open_fetching(redis_url=own_valkey.url) as other,
    ):
        await asyncio.gather(*(each.answer(target, cache=True) for each in (one, other) for _ in range(10)))
        assert one.visits(target) == 1


async def test_of_20_at_once_all_learn_that_it_is_not_the_page(fetching_on_each_hot: Fetching) -> None:
    fetching, target = fetching_on_each_hot, say(CAPTCHA, pause=0.1)
    answers = await asyncio.gather(*(fetching.answer(target, cache=True) for _ in range(20)))
    assert {answer["outcome"] for answer in answers} == {"blocked"}
    assert not any(answer["cache"]["hit"] for answer in answers)


async def test_decision15_without_the_store_it_answers_all_the_same(
    open_fetching: OpenFetching, own_valkey: Valkey
) -> None:
    async with open_fetching(redis_url=own_valkey.url) as fetching:
        target = fresh()
        await fetching.answer(target, cache=True)
        own_valkey.kill()
        for _ in range(2):
            response = await fetching.post(target, cache=True)
            assert response.headers["x-cache-status"] == "MISS"
            assert response.json()["cache"].keys() == {"hit", "key"}
        assert {line["code"] for line in fetching.visit.logged("cache_error")} == {"CACHE_ERROR"}


async def test_the_same_idempotency_key_is_the_same_fetch(fetching: Fetching) -> None:
    target, sent = fresh(), {**AS_ADMIN, "Idempotency-Key": "once"}
    first, second = [await fetching.post(target, sent=sent) for _ in range(2)]
    assert first.content == second.content
    assert second.headers["x-idempotent-replayed"] == "true"
    assert second.headers["x-cache-status"] == "BYPASS"
    assert fetching.visits(target) == 1
    assert_problem(await fetching.post(target + "1", sent=sent), "IDEMPOTENCY_KEY_CONFLICT")


# What is answered.


@pytest.mark.parametrize("wanted", [[name] for name in FORMATS] + [list(FORMATS), ["metadata"]], ids=str)
async def test_formats_are_what_was_asked_for(fetching: Fetching, wanted: list[str]) -> None:
    answer = await fetching.answer(say(ARTICLE), formats=wanted)
    shown = {name for name, field in FORMATS.items() if field in answer}
    assert shown == set(wanted) - {"metadata"}
    assert answer["title"] == "Orb webs"
    assert answer["metadata"]["author"] == "A. Diadema"


async def test_an_article(fetching: Fetching) -> None:
    target = say(ARTICLE)
    answer = await fetching.answer(target, formats=[*FORMATS])
    assert (answer["url"], answer["finalUrl"]) == (fetching.site.url(target), fetching.site.url(target))
    assert (answer["statusCode"], answer["outcome"], answer["kind"]) == (200, "ok", "html")
    assert answer["contentType"] == "text/html"
    assert answer["metadata"] == {
        "description": "How spiders build.",
        "author": "A. Diadema",
        "publishedAt": "2024-05-06",
        "language": "en",
        "canonical": fetching.site.url("/webs"),
    } | {name: answer["metadata"][name] for name in ("siteName", "openGraph") if name in answer["metadata"]}
    assert "## The spiral" in answer["content"]
    assert f"[capture spiral]({fetching.site.url('/said/spiral.html')})" in answer["content"]
    assert "- radii\n- spiral" in answer["content"]
    assert "<li>radii</li>" in answer["html"]
    assert "<" not in answer["text"]
    assert answer["rawHtml"] == ARTICLE
    assert {"url": fetching.site.url("/home"), "text": "Navigation of the site"} in answer["links"]
    assert answer["words"] > 40
    for name in ("fallback", "truncated", "outcomeReason", "redirects", "pageCount", "cache"):
        assert name not in answer


async def test_the_main_content_or_the_full_page(fetching: Fetching) -> None:
    main, full = [await fetching.answer(say(ARTICLE), mainContent=main) for main in (True, False)]
    assert "Orb weavers" in main["content"]
    assert "Navigation of the site" not in main["content"]
    assert "Orb weavers" in full["content"]
    assert "Navigation of the site" in full["content"]
    assert "Imprint and the like" in full["content"]


async def test_include_and_exclude(fetching: Fetching) -> None:
    target = say(ARTICLE)
    only = await fetching.answer(target, include=["ul.parts", "footer"])
    assert "radii" in only["content"]
    assert "Imprint" in only["content"]
    assert "Orb weavers" not in only["content"]
    without = await fetching.answer(target, exclude=["ul.parts", "h2"])
    assert "Orb weavers" in without["content"]
    assert "- radii" not in without["content"]
    assert "The spiral" not in without["content"]


@pytest.mark.parametrize("field", ["include", "exclude"])
@pytest.mark.parametrize("selector", ["div[", "", "//div", "p:("])
async def test_a_selector_that_is_none(fetching: Fetching, field: str, selector: str) -> None:
    target = fresh()
    body: dict[str, Any] = {field: ["p", selector]}
    document = assert_problem(await fetching.post(target, **body), "INVALID_SELECTOR")
    assert document["details"] == {"selector": selector}
    assert fetching.visits(target) == 0


RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>Web news</title><link>/</link>
<item><title>A web is built</title><link>/1</link><description>At night.</description></item>
</channel></rss>"""


@pytest.mark.parametrize(
    ("body", "media_type", "kind", "piece"),
    [
        ('{"name": "orb"}', "application/json", "json", '```json\n{\n  "name": "orb"\n}\n```'),
        ('{"name": "orb"}', "application/ld+json", "json", '"name": "orb"'),
        ("<web><orb/></web>", "application/xml", "xml", "```xml\n<web><orb/></web>\n```"),
        ("Just a text.\nOf two lines.", "text/plain; charset=utf-8", "text", "Just a text.\nOf two lines."),
        ("# A heading\n\nAnd text.", "text/markdown", "markdown", "# A heading\n\nAnd text."),
        ("kind,legs\nspider,8\n", "text/csv", "table", "| kind | legs |"),
        (RSS, "application/rss+xml", "feed", "A web is built"),
        (RSS, "text/xml", "feed", "A web is built"),
        (pdf([["A page of a PDF"], ["And another"]]), "application/pdf", "pdf", "A page of a PDF"),
        (pdf([["A page of a PDF"]]), "application/octet-stream", "pdf", "A page of a PDF"),
        ("body { color: red }", "text/css", "text", "```css\nbody { color: red }\n```"),
    ],
)
async def test_what_is_not_html(
    fetching: Fetching, body: str | bytes, media_type: str, kind: str, piece: str
) -> None:
    answer = await fetching.answer(say(body, f"Content-Type: {media_type}"), formats=[*FORMATS])
    assert (answer["kind"], answer["outcome"]) == (kind, "ok")
    assert piece in answer["content"]
    assert answer["html"] == ""
    assert answer["title"]
    assert ("pageCount" in answer) == (kind == "pdf")
    assert ("rawHtml" in answer) == (kind != "pdf")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "image/png"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "text/html"),
        (b"PK\x03\x04" + bytes(100), "application/zip"),
        (bytes(range(256)), "application/octet-stream"),
        (b"\x00\x00\x00\x20ftypisom", "video/mp4"),
    ],
)
async def test_what_has_no_text_is_a_problem(fetching: Fetching, body: bytes, media_type: str) -> None:
    response = await fetching.post(say(body, f"Content-Type: {media_type}"))
    document: Any = assert_problem(response, "CONTENT_UNREADABLE")
    assert document["details"]["reason"] == "unsupported_content"
    assert document["details"]["mediaType"] == media_type


async def test_a_pdf_that_cannot_be_read(fetching: Fetching) -> None:
    response = await fetching.post(say(b"%PDF-1.7 and then nonsense", "Content-Type: application/pdf"))
    document: Any = assert_problem(response, "CONTENT_UNREADABLE")
    assert document["details"]["reason"] == "unreadable_content"


OUTCOMES = (
    "blocked-hcaptcha-page",
    "blocked-cloudflare-challenge-status-200",
    "blocked-forbidden-nginx",
    "login-plain-form",
    "soft404-bare-title",
    "parked-nginx-welcome",
    "empty-react",
    "error-404-nginx",
    "error-410",
    "ok-article-about-captchas",
    "ok-contact-form-recaptcha",
)


@pytest.mark.parametrize("name", OUTCOMES)
async def test_decision2_whatever_the_target_says_is_an_answer(fetching: Fetching, name: str) -> None:
    sample = next(sample for sample in samples() if sample.name == name)
    fields = [f"{name}: {value}" for name, value in sample.page.headers]
    target = say(sample.page.body, "Content-Type: text/html", *fields, status=f"{sample.page.status} Said")
    answer = await fetching.answer(target, timeout=900)
    assert (answer["outcome"], answer["statusCode"]) == (sample.outcome, sample.page.status)
    assert ("outcomeReason" in answer) == (sample.outcome != "ok")


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599])
async def test_decision2_also_when_it_is_out_of_order(fetching: Fetching, status: int) -> None:
    answer = await fetching.answer(f"/status/{status}", timeout=900)  # too short for a second attempt
    assert (answer["outcome"], answer["statusCode"]) == ("error", status)


async def test_redirects_are_told(fetching: Fetching) -> None:
    answer = await fetching.answer("/redirect/2")
    assert answer["finalUrl"] == fetching.site.url("/ok")
    assert answer["redirects"] == [
        {"url": fetching.site.url("/redirect/2"), "status": 302},
        {"url": fetching.site.url("/redirect/1"), "status": 302},
    ]


# What is sent.


def sent(answer: dict[str, Any]) -> dict[str, str]:
    """The headers that /echo saw."""
    return dict(json.loads(answer["rawHtml"])["headers"])


async def test_headers_of_the_list_are_sent(fetching: Fetching) -> None:
    given = {
        "Accept-Language": "de",
        "Cookie": "a=b",
        "Authorization": "Bearer of-the-site",
        "X-API-Key": "k",
        "DNT": "1",
        "Referer": "https://a.example/",
    }
    headers = sent(await fetching.answer("/echo", formats=["rawHtml"], headers=given))
    assert headers.items() >= {name.lower(): value for name, value in given.items()}.items()
    assert headers["user-agent"].startswith("Gossamer/")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "other.example"),
        ("User-Agent", "Somebody else"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "close"),
        ("Metadata-Flavor", "Google"),
        ("", "x"),
        ("Cookie ", "x"),
        ("Cookie", "a\r\nHost: other.example"),
        ("Cookie", "a\nb"),
        ("Cookie", "a\0b"),
        ("Cookie", "\u2603"),
    ],
)
async def test_no_other_header_and_nothing_that_is_none(fetching: Fetching, name: str, value: str) -> None:
    target = fresh("/echo")
    assert_problem(await fetching.post(target, headers={name: value}), "VALIDATION_ERROR")
    assert fetching.visits(target) == 0


async def test_credentials_stay_at_the_origin_that_they_are_for(fetching: Fetching) -> None:
    secrets = {"Authorization": "Bearer of-the-site", "Cookie": "a=b", "X-API-Key": "k"}
    for origin, kept in ((fetching.site.url, True), (fetching.site.other_url, False)):
        target = f"/redirect-to?url={quote(origin('/echo'))}"
        given = {**secrets, "Accept-Language": "de"}
        headers = sent(await fetching.answer(target, formats=["rawHtml"], headers=given))
        assert headers["accept-language"] == "de"
        assert all((name in headers) is kept for name in map(str.lower, secrets))


async def test_our_own_key_is_never_sent(fetching: Fetching) -> None:
    answer = await fetching.answer("/echo", formats=["rawHtml"])
    assert "authorization" not in sent(answer)
    assert "sk_live" not in answer["rawHtml"]


# What is refused.


@pytest.mark.parametrize("path", ["/fetch", "/fetch/basic"])
async def test_decision10_nobody_is_turned_away(fetching: Fetching, path: str) -> None:
    target = fresh()
    response = await fetching.visit.client.post(path, json={"url": fetching.site.url(target)})
    assert_problem(response, "UNAUTHORIZED")
    assert fetching.visits(target) == 0


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "invalid_url_format"),
        ("site.example/page", "invalid_url_format"),
        ("http://", "invalid_url_format"),
        ("http://a b.example/", "invalid_url_format"),
        ("http://site.example:99999/", "invalid_url_format"),
        ("http://[::1/", "invalid_url_format"),
        ("ftp://site.example/", "invalid_protocol"),
        ("file:///etc/passwd", "invalid_protocol"),
        ("javascript:alert(1)", "invalid_protocol"),
        ("data:text/html,hello", "invalid_protocol"),
        ("gopher://site.example/", "invalid_protocol"),
        ("http://user:hunter22@site.example/", "credentials_in_url"),
        ("http://user@site.example/", "credentials_in_url"),
        ("http://site.example/" + "a" * 2048, "url_too_long"),
        ("http://localhost:3000/", "hostname_blocked"),
        ("http://site.localhost/", "hostname_blocked"),
        ("http://printer.local/", "hostname_blocked"),
        ("http://metadata.google.internal/", "hostname_blocked"),
        ("http://intranet/", "hostname_blocked"),
        ("http://169.254.169.254/latest/meta-data/", "hostname_blocked"),
        ("http://10.1.2.3/", "hostname_blocked"),
        ("http://192.168.0.1/", "hostname_blocked"),
        ("http://0.0.0.0/", "hostname_blocked"),
        ("http://[::]/", "hostname_blocked"),
        ("http://[::1]/", "hostname_blocked"),
        ("http://[fd00::1]/", "hostname_blocked"),
        ("http://[fe80::1]/", "hostname_blocked"),
        ("http://[64:ff9b::7f00:1]/", "hostname_blocked"),
    ],
)
async def test_decision1_the_reason_why_a_url_is_refused(fetching: Fetching, url: str, reason: str) -> None:
    asked = fetching.names.asked.total()
    response = await fetching.post(url)
    document: Any = assert_problem(response, "INVALID_URL")
    assert document["details"]["reason"] == reason
    assert "hunter22" not in response.text
    assert fetching.names.asked.total() == asked


FORBIDDEN = (  # all of them 127.0.0.2, where there is a canary
    "127.0.0.2",
    "127.0.0.2.",
    "127.2",
    "127.0.2",
    "2130706434",
    "017700000002",
    "0x7f000002",
    "0X7F.0.0.2",
    "0177.0.0.02",
    "%31%32%37.0.0.2",
    "127%2E0%2E0%2E2",
    "\uff11\uff12\uff17.\uff10.\uff10.\uff12",
    "\u2460\u2461\u2466.\u24ea.\u24ea.\u2461",
    "127\u30020\u30020\u30022",
    "[::ffff:127.0.0.2]",
    "[::ffff:7f00:2]",
    "[0:0:0:0:0:ffff:127.0.0.2]",
)
INSIDE = (  # the same by its name server: one address of the last is allowed
    "inside.example",
    "alias.example",
    "both.example",
)
REFUSED = {
    **dict.fromkeys(FORBIDDEN, ("INVALID_URL", "hostname_blocked")),
    **dict.fromkeys(INSIDE, ("FETCH_FAILED", "dns_not_found")),
}


def teach(fetching: Fetching) -> None:
    fetching.names.say("inside.example", ("127.0.0.2",))
    fetching.names.say("alias.example", ("127.0.0.2", "::ffff:127.0.0.2"))
    fetching.names.say("both.example", ("127.0.0.1", "127.0.0.2"))


@pytest.mark.parametrize("host", REFUSED)
async def test_a_forbidden_address_is_refused_however_it_is_spelt_and_on_every_hop(
    fetching: Fetching, host: str
) -> None:
    teach(fetching)
    async with canary("127.0.0.2") as bird:
        url = f"http://{host}:{bird.port}/"
        for _ in range(5):
            code, reason = REFUSED[host]
            document: Any = assert_problem(await fetching.post(url, cache=True), code)
            assert document["details"]["reason"] == reason
            location = url.encode().decode("latin-1")  # so that it is sent as UTF-8
            url = fetching.site.url(say("", f"Location: {location}", status="302 Found"))
        assert bird.connections == 0


async def test_a_name_that_changes_its_mind_reaches_only_what_was_judged(fetching: Fetching) -> None:
    """Rebinding, in both orders: the second answer is another one, and the port the same."""
    port = int(fetching.site.url("").rpartition(":")[2])
    async with canary("127.0.0.2", port) as bird:
        fetching.names.say("turn.example", ("127.0.0.1",), ("127.0.0.2",))
        fetching.names.say("return.example", ("127.0.0.2",), ("127.0.0.1",))
        answer = await fetching.answer(f"http://turn.example:{port}/ok")
        assert answer["outcome"] == "ok"
        assert_problem(await fetching.post(f"http://return.example:{port}/ok"), "FETCH_FAILED")
        for name in ("turn", "return"):
            await fetching.post(f"http://{name}.example:{port}/redirect/3", timeout=900)
        assert bird.connections == 0


async def test_decision11_ports(open_fetching: OpenFetching) -> None:
    async with open_fetching(egress_ports="80,443") as fetching, canary("127.0.0.1") as bird:
        for port in (bird.port, 22, 8080):
            document: Any = assert_problem(await fetching.post(f"http://127.0.0.1:{port}/"), "INVALID_URL")
            assert document["details"]["reason"] == "port_blocked"
            assert "GOSSAMER_EGRESS_PORTS" in document["hint"]
        assert bird.connections == 0


async def test_decision11_closed_unless_opened(open_fetching: OpenFetching) -> None:
    async with open_fetching(egress_allow="") as fetching:
        target = fresh()
        document: Any = assert_problem(await fetching.post(target), "INVALID_URL")
        assert document["details"]["reason"] == "hostname_blocked"
        assert "GOSSAMER_EGRESS_ALLOW" in document["hint"]
        assert fetching.visits(target) == 0


# What is not to be had.


async def failure(fetching: Fetching, where: str, code: str, **body: Any) -> Any:
    response = await fetching.post(where, **{"timeout": 900, **body})
    return assert_problem(response, code)["details"]


async def test_decision2_refused(fetching: Fetching) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        where = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
        assert (await failure(fetching, where, "FETCH_FAILED"))["reason"] == "connection_refused"


async def test_decision2_no_such_name(fetching: Fetching) -> None:
    details = await failure(fetching, "http://nowhere.example/", "FETCH_FAILED")
    assert (details["reason"], details["host"]) == ("dns_not_found", "nowhere.example")


async def test_decision2_no_certificate(fetching: Fetching) -> None:
    where = fetching.site.secure_url("/ok")
    assert (await failure(fetching, where, "FETCH_FAILED"))["reason"] == "tls_invalid_certificate"


async def test_decision2_no_tls_at_all(fetching: Fetching) -> None:
    async with canary("127.0.0.1") as bird:
        where = f"https://127.0.0.1:{bird.port}/"
        assert (await failure(fetching, where, "FETCH_FAILED"))["reason"] == "tls_failed"


async def test_decision2_too_late(fetching: Fetching) -> None:
    for timeout in (1, 300):
        await failure(fetching, "/first-byte-late", "FETCH_TIMEOUT", timeout=timeout)


@pytest.mark.parametrize("timeout", [0, -1, 60_001, 1.5, "1000", None])
async def test_a_timeout_that_is_none(fetching: Fetching, timeout: object) -> None:
    assert_problem(await fetching.post(timeout=timeout), "VALIDATION_ERROR")


def bodies() -> Sequence[dict[str, Any]]:
    return [
        {"formats": []},
        {"formats": ["pdf"]},
        {"formats": "markdown"},
        {"cache": "yes"},
        {"maxAge": -1},
        {"include": "p"},
        {"include": ["p"] * 51},
        {"exclude": ["p" * 501]},
        {"headers": {"Cookie": "a" * 8001}},
        {"headers": {"Cookie": 1}},
        {"headers": [["Cookie", "a"]]},
        {"mainContent": "yes"},
        {"url": None},
        {"unknown": 1},
    ]


@pytest.mark.parametrize("body", bodies(), ids=lambda body: next(iter(body)))
async def test_a_body_that_is_not_understood(fetching: Fetching, body: dict[str, Any]) -> None:
    asked = {"url": fetching.site.url("/ok"), **body}
    response = await fetching.visit.client.post("/fetch", json=asked, headers=AS_ADMIN)
    document = assert_problem(response, "VALIDATION_ERROR")
    assert next(iter(body)) in str(document["detail"])
