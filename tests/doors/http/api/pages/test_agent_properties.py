"""The properties of the specification, on every endpoint for agents and with a real browser.

Where a browser is needed an example is a batch of requests at once: few examples, many requests.
`test_fetch.py` has those of the plain fetch alone, in more examples, and `test_capture.py` those of pictures.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doors.fetches import numbers, say
from tests.doors.http.layers.test_problems import VALIDATOR
from tests.doors.renders import Rendering, app_page, article, opened
from tests.doors.services import AS_ADMIN
from tests.site.server import Site

KEY = re.compile(r"weblens:[a-z]+:[0-9a-f]{12}")
with_browser = settings(max_examples=6)
ARTICLE, SHELL, MISSING = article("Orb webs"), app_page(), say(article(), status="404 Not Found")
PLAIN = say(ARTICLE)

# What each endpoint needs besides the address of a page.
ENDPOINTS: dict[str, dict[str, Any]] = {
    "/fetch": {},
    "/fetch/basic": {},
    "/fetch/pro": {},
    "/screenshot": {},
    "/pdf": {},
    "/extract": {"fields": ["title"]},
}
endpoints = st.sampled_from(sorted(ENDPOINTS))
pages = st.sampled_from([PLAIN, MISSING])


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, site: Site) -> AsyncIterator[Rendering]:
    async with opened(tmp_path_factory.mktemp("service"), site, working=False) as rendering:
        yield rendering


async def post(service: Rendering, path: str, target: str = PLAIN, **body: Any) -> httpx.Response:
    url = service.site.url(target) if target.startswith("/") else target
    asked = {"url": url, **ENDPOINTS.get(path, {}), **body}
    return await service.visit.client.post(path, json=asked, headers=AS_ADMIN, timeout=60)


async def all_of(service: Rendering, requests: list[dict[str, Any]]) -> list[httpx.Response]:
    return await asyncio.gather(*(post(service, **request) for request in requests))


def seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def fresh() -> str:
    """A page that nobody has asked for before."""
    return f"{PLAIN}?property={next(numbers)}"


tiers = st.sampled_from(
    [
        ("/fetch", {}, "basic"),
        ("/fetch/basic", {}, "basic"),
        ("/fetch/pro", {}, "pro"),
        ("/fetch", {"render": "always"}, "pro"),
    ]
)


@with_browser
@given(asked=st.lists(st.tuples(tiers, st.sampled_from([PLAIN, SHELL, MISSING])), min_size=4, max_size=8))
async def test_p5_every_success_names_its_tier(service: Rendering, asked: list[Any]) -> None:
    requests = [{"path": path, "target": target, **body} for (path, body, _), target in asked]
    for ((_, _, tier), _), response in zip(asked, await all_of(service, requests), strict=True):
        assert response.status_code == 200, response.text
        assert response.json()["tier"] == tier


@with_browser
@given(targets=st.lists(st.sampled_from([PLAIN, SHELL, MISSING]), min_size=4, max_size=8))
async def test_p5_auto_names_the_tier_that_it_took(service: Rendering, targets: list[str]) -> None:
    requests = [{"path": "/fetch", "target": target, "render": "auto"} for target in targets]
    for target, response in zip(targets, await all_of(service, requests), strict=True):
        answer = response.json()
        assert answer["tier"] == ("pro" if target == SHELL else "basic")
        assert answer["outcome"] == ("error" if target == MISSING else "ok")


@with_browser
@given(
    asked=st.lists(
        st.tuples(endpoints, st.sampled_from([PLAIN, MISSING])), min_size=3, max_size=6, unique=True
    ),
    repeats=st.integers(1, 2),
)
async def test_p7_the_metadata_of_the_cache_are_complete(
    service: Rendering, asked: list[tuple[str, str]], repeats: int
) -> None:
    requests = [{"path": path, "target": target, "cache": True} for path, target in asked]
    for _ in range(repeats):
        for response in await all_of(service, requests):
            answer = response.json()
            cache = answer["cache"]
            assert response.headers["x-cache-status"] == ("HIT" if cache["hit"] else "MISS")
            assert KEY.fullmatch(cache["key"])
            assert ("expiresAt" in cache) == (answer["outcome"] == "ok")
            if cache["hit"]:
                assert cache["age"] >= 0
                made = answer.get("fetchedAt") or answer["capturedAt"]
                assert seconds(cache["expiresAt"]) > seconds(made)


@with_browser
@given(asked=st.lists(st.tuples(endpoints, st.integers(-1, 100_000)), min_size=3, max_size=6))
async def test_p8_ttl_is_clamped(service: Rendering, asked: list[tuple[str, int]]) -> None:
    requests = [{"path": path, "target": fresh(), "cache": True, "cacheTtl": ttl} for path, ttl in asked]
    for (_, ttl), response in zip(asked, await all_of(service, requests), strict=True):
        answer = response.json()
        lasts = seconds(answer["cache"]["expiresAt"]) - seconds(
            answer.get("fetchedAt") or answer["capturedAt"]
        )
        assert lasts == pytest.approx(min(max(ttl, 60), 86_400), abs=2)


# Every answer, whatever it is.

bodies = st.fixed_dictionaries(
    {},
    optional={
        "url": st.sampled_from(
            [PLAIN, MISSING, "http://localhost/", "http://127.0.0.9/", "ftp://site.example/", "nonsense", ""]
        ),
        "timeout": st.sampled_from([-1, 0, 5_000, 10_000, 10**9, "long", None]),
        "viewport": st.sampled_from([{"width": 400, "height": 300}, {"width": 1}, 7]),
        "selector": st.sampled_from(["h1", "#nowhere", "a["]),
        "cacheTtl": st.sampled_from([60, 1.5, "x"]),
        "query": st.text(max_size=10),
        "unknown": st.none(),
    },
)
everything = st.sampled_from([*sorted(ENDPOINTS), "/search", "/batch/fetch"])


@settings(max_examples=80)
@given(asked=st.lists(st.tuples(everything, bodies), min_size=4, max_size=8))
async def test_p10_and_p11_every_answer_has_its_headers_and_every_error_its_members(
    service: Rendering, asked: list[tuple[str, dict[str, Any]]]
) -> None:
    async def send(path: str, body: dict[str, Any]) -> httpx.Response:
        url = body.get("url", "")
        where = {"url": service.site.url(url)} if url.startswith("/") else {}
        client = service.visit.client
        return await client.post(path, json={**body, **where}, headers=AS_ADMIN, timeout=60)

    for response in await asyncio.gather(*(send(path, body) for path, body in asked)):
        assert re.fullmatch(r"wl_[0-9a-z]{6,}_[0-9a-z]{6}", response.headers["x-request-id"])
        assert response.headers["x-processing-time"].isdigit()
        answer = response.json()
        assert answer["requestId"] == response.headers["x-request-id"]
        if response.status_code >= 400:
            assert {"error", "code", "message", "requestId"} <= answer.keys()
            VALIDATOR.validate(answer)
