"""`actions`, `cookies` and the visitor on every endpoint that visits a page."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.doors.fetches import Fetching, opened, say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import PROSE
from tests.doors.services import AS_ADMIN, bearer
from tests.site.server import Site

from gossamer.state.tenants.tenants import Tier

MORE = f"""<!doctype html><title>More</title><h1>More</h1><p>{PROSE}</p><p id=rest></p>
<button id=more onclick="rest.textContent = 'The rest of the story'">more</button>"""
CLICK = {"type": "click", "selector": "#more"}
LOOK = {"type": "evaluate", "script": "[navigator.language, innerWidth]"}


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, site: Site) -> AsyncIterator[Fetching]:
    async with opened(tmp_path_factory.mktemp("service"), site, browser_places="1") as opened_service:
        yield opened_service


async def test_a_page_is_read_after_its_steps(service: Fetching) -> None:
    answer = await service.answer(say(MORE), path="/fetch/pro", actions=[CLICK, LOOK, {"type": "screenshot"}])
    assert "The rest of the story" in answer["content"]
    click, look, picture = answer["actions"]
    assert (click["type"], click["ok"], click.keys()) == ("click", True, {"type", "ok", "elapsedMs"})
    assert look["result"] == ["en-US", 1280]
    assert base64.b64decode(picture["screenshot"], validate=True).startswith(b"\x89PNG")
    assert answer["via"] == "render"


async def test_steps_use_a_browser_where_one_may_be_used(service: Fetching) -> None:
    answer = await service.answer(say(MORE), render="auto", actions=[CLICK])
    assert (answer["tier"], answer["via"], "rest of the story" in answer["content"]) == (
        "pro",
        "render",
        True,
    )
    fields = {"rest": "string"}
    extracting = {"path": "/extract", "render": "auto", "timeout": 20_000, "fields": fields}
    extracted = await service.answer(say(MORE), **extracting, actions=[CLICK])
    assert [report["ok"] for report in extracted["actions"]] == [True]


async def test_captures_come_after_steps(service: Fetching) -> None:
    target = say(MORE + "<script>more.addEventListener('click', () => document.title = 'Clicked')</script>")
    for path in ("/screenshot", "/pdf"):
        answer = await service.answer(target, path=path, actions=[CLICK], returnCookies=True, timeout=20_000)
        assert (answer["title"], answer["cookies"]) == ("Clicked", [])
        assert [report["type"] for report in answer["actions"]] == ["click"]


@pytest.mark.parametrize(
    "asked",
    [
        {"actions": [CLICK]},
        {"render": "never", "actions": [CLICK]},
        {"path": "/fetch/basic", "actions": [CLICK]},
        {"timezone": "Europe/Zurich"},
        {"path": "/extract", "fields": ["a"], "actions": [CLICK]},
        {"render": "always", "actions": [{"type": "wait"}]},
        {"render": "always", "actions": [{"type": "wait", "milliseconds": 5, "selector": "p"}]},
        {"render": "always", "actions": [{"type": "wait", "milliseconds": 30_001}]},
        {"render": "always", "actions": [{"type": "scroll"}]},
        {"render": "always", "actions": [{"type": "press", "key": "Entre"}]},
        {"render": "always", "actions": [{"type": "jump"}]},
        {"render": "always", "actions": [{"type": "click", "selector": "p", "unknown": 1}]},
        {"render": "always", "actions": [CLICK] * 51},
        {"render": "always", "actions": [{"type": "screenshot"}] * 11},
        {"cookies": [{"name": "a", "value": "b", "domain": "example.com"}]},
        {"cookies": [{"name": "a", "value": "b\r\nX: 1"}]},
        {"cookies": [{"name": "a b", "value": "c"}]},
        {"cookies": [{"name": "a", "value": "b"}], "headers": {"Cookie": "c=d"}},
        {"device": "watch"},
        {"locale": "de_CH; q=1"},
        {"timezone": "../etc/passwd", "render": "always"},
        {"block": ["scripts"]},
    ],
)
async def test_what_cannot_be_done_is_refused_before_the_visit(
    service: Fetching, asked: dict[str, Any]
) -> None:
    target = say(MORE)
    response = await service.post(target, **asked)
    assert response.status_code == 400, response.text
    assert response.json()["code"] == "VALIDATION_ERROR"
    assert service.visits(target) == 0


async def test_a_step_that_fails_ends_the_request(service: Fetching) -> None:
    missing = {"type": "click", "selector": "#missing", "timeout": 300}
    response = await service.post(say(MORE), path="/fetch/pro", actions=[LOOK, missing])
    assert_problem(response, "ACTION_FAILED")
    details = response.json()["details"]
    assert (response.status_code, details["action"], details["reason"]) == (422, 1, "element_not_found")
    assert [report["ok"] for report in details["actions"]] == [True, False]
    assert "result" not in details["actions"][0]
    going_on = await service.answer(
        say(MORE), path="/fetch/pro", actions=[missing | {"optional": True}, CLICK]
    )
    assert [report["ok"] for report in going_on["actions"]] == [False, True]
    assert going_on["actions"][0]["error"]["code"] == "element_not_found"


async def test_a_visit_that_its_steps_end_is_counted(service: Fetching) -> None:
    key = await service.visit.key(tier=Tier.FREE)
    missing = [{"type": "click", "selector": "#missing", "timeout": 100}]
    for _ in range(2):
        response = await service.post(say(MORE), path="/fetch/pro", sent=bearer(key), actions=missing)
        assert_problem(response, "ACTION_FAILED")
    usage = await service.visit.client.get("/api/usage", headers=bearer(key))
    assert usage.status_code == 200, usage.text
    assert usage.json()["renders"]["today"] == 2


async def test_cookies_go_with_plain_fetches_too(service: Fetching) -> None:
    sent = [{"name": "a", "value": "1"}, {"name": "b", "value": "2", "path": "/other"}]
    answer = await service.answer("/echo", cookies=sent, locale="de-CH", device="mobile", formats=["text"])
    sent_along = dict(json.loads(answer["text"])["headers"])
    assert (sent_along["cookie"], sent_along["accept-language"]) == ("a=1", "de-CH,de;q=0.9")
    assert sent_along["user-agent"].startswith("Gossamer/")
    assert sent_along["user-agent"].endswith(" Mobile")
    assert "cookies" not in answer
    told = await service.answer("/cookies?out", cookies=sent, returnCookies=True)
    assert [(cookie["name"], cookie["value"]) for cookie in told["cookies"]] == [
        ("a", "1"),
        ("visited", "yes"),
    ]
    assert told["cookies"][1] == {
        "name": "visited",
        "value": "yes",
        "domain": "127.0.0.1",
        "httpOnly": True,
    }


async def test_what_is_private_is_never_shared(service: Fetching) -> None:
    target = say(MORE)
    for private in ({"cookies": [{"name": "a", "value": "b"}]}, {"returnCookies": True}):
        before = service.visits(target)
        for _ in range(2):
            response = await service.post(target, cache=True, maxAge=100, **private)
            assert response.headers["x-cache-status"] == "BYPASS"
            assert "cache" not in response.json()
        assert service.visits(target) == before + 2


async def test_the_visitor_is_part_of_the_key(service: Fetching) -> None:
    target = say(MORE)
    wanted: list[dict[str, Any]] = [{}, {"device": "mobile"}, {"locale": "de"}, {"block": ["ads"]}]
    for hit in (False, True):
        for number, options in enumerate(wanted):
            answer = await service.answer(target, cache=True, **options)
            assert answer["cache"]["hit"] is hit, number
    assert service.visits(target) == len(wanted)


async def test_a_batch_returns_no_cookies(service: Fetching) -> None:
    body = {"urls": [service.site.url(say(MORE))], "tier": "pro", "returnCookies": True}
    refused = await service.visit.client.post("/batch/fetch", json=body, headers=AS_ADMIN)
    assert_problem(refused, "VALIDATION_ERROR")
