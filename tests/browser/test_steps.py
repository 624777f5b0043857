"""Steps on a page before it is taken, with a real browser."""

import json
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from gossamer.problems import Problem
from gossamer.reach.page.visit import Screenshot, VisitResult
from gossamer.web.documents.image_size import Size, size_of
from gossamer.web.render.actions import ActionReport, PageAction
from tests.browser.pages import DONE
from tests.browser.pools import Pool
from tests.site.canary import canary
from tests.site.server import Site

FORM = """<title>Form</title><form action=/given>
<input id=name value="Ada "><textarea id=text></textarea><input id=fixed readonly><input id=box type=checkbox>
<select id=colour><option value=r>Red</option><option value=g>Green and  blue</option></select>
<button id=go name=html value="<p id=arrived>arrived</p>">Go</button></form><p id=out></p>
<div id=rich contenteditable>rich-</div><a id=link href="/page/static?clicked">a link</a>
<script>const seen = []; for (const kind of ["keydown", "input", "change"])
document.addEventListener(kind, (event) => { seen.push(kind + ":" + (event.key ?? event.target.id));
out.textContent = seen.join(" ") })</script>"""


def given(site: Site, html: str, **query: str) -> str:
    more = "".join(f"&{name}={quote(value)}" for name, value in query.items())
    return site.url(f"/given?html={quote(html)}{more}")


def steps(*actions: dict[str, Any]) -> tuple[PageAction, ...]:
    return msgspec.convert(actions, tuple[PageAction, ...])


async def take(pool: Pool, url: str, *actions: dict[str, Any], **how: Any) -> VisitResult:
    return await pool.visit(url, actions=steps(*actions), **how)


async def failed(pool: Pool, url: str, *actions: dict[str, Any], **how: Any) -> dict[str, Any]:
    with pytest.raises(Problem) as caught:
        await take(pool, url, *actions, **how)
    assert caught.value.kind.code == "ACTION_FAILED"
    return dict(caught.value.details)


async def value_of(pool: Pool, url: str, *actions: dict[str, Any], script: str) -> Any:
    visited = await take(pool, url, *actions, {"type": "evaluate", "script": script})
    assert all(report.ok for report in visited.actions)
    return visited.actions[-1].result


def reason(report: ActionReport) -> str:
    return report.error.code.value if report.error else ""


async def test_a_form_is_filled_in_and_sent(pool: Pool, site: Site) -> None:
    visited = await take(
        pool,
        given(site, FORM),
        {"type": "type", "selector": "#name", "text": "Lovelace"},
        {"type": "select", "selector": "#colour", "value": "Green and blue"},
        {"type": "evaluate", "script": "[document.getElementById('name').value, colour.value]"},
        {"type": "click", "selector": "#go"},
        {"type": "evaluate", "script": "document.getElementById('arrived').textContent"},
    )
    assert [report.type for report in visited.actions] == ["type", "select", "evaluate", "click", "evaluate"]
    assert all(report.ok and report.elapsed_ms >= 0 for report in visited.actions)
    assert visited.actions[2].result == ["Ada Lovelace", "g"]
    assert visited.actions[4].result == "arrived"
    assert 'id="arrived"' in visited.page.text
    assert visited.page.final_url.startswith(site.url("/given?html=%3Cp"))
    assert visited.page.redirects == ()


async def test_what_is_typed_comes_key_by_key(pool: Pool, site: Site) -> None:
    url = given(site, FORM)
    typed = {"type": "type", "selector": "#text", "text": "aß1\n🙂"}
    assert await value_of(pool, url, typed, script="text.value") == "aß1\n🙂"
    told = await value_of(pool, url, typed, script="out.textContent")
    assert told.startswith("keydown:a input:text keydown:ß input:text keydown:1 input:text keydown:Enter")
    rich = {"type": "type", "selector": "#rich", "text": "text"}
    assert await value_of(pool, url, rich, script="rich.textContent") == "rich-text"


async def test_keys_are_pressed_where_the_focus_is(pool: Pool, site: Site) -> None:
    url = given(site, FORM)
    typed = {"type": "type", "selector": "#text", "text": "abc"}
    keys = [
        {"type": "press", "key": key} for key in ("ArrowLeft", "Backspace", "x", "End", "Space", "Delete")
    ]
    assert await value_of(pool, url, typed, *keys, script="text.value") == "axc "
    more = {"type": "type", "text": "d"}
    assert await value_of(pool, url, typed, more, script="text.value") == "abcd"
    sent = await take(
        pool, url, {"type": "type", "selector": "#name", "text": "x"}, {"type": "press", "key": "Enter"}
    )
    assert 'id="arrived"' in sent.page.text


async def test_a_page_is_scrolled(pool: Pool, site: Site) -> None:
    html = "<style>body { margin: 0 } #tall { height: 9000px; width: 4000px }</style><div id=tall></div>"
    html += "<div id=box style='height: 100px; overflow: auto'><div style='height: 999px'></div></div>"
    url = given(site, html)
    down, script = {"type": "scroll", "direction": "down", "amount": 700}, "scrollY"
    assert await value_of(pool, url, down, script=script) == 700
    up = {"type": "scroll", "direction": "up", "amount": 300}
    assert await value_of(pool, url, down, up, script=script) == 400
    right = {"type": "scroll", "direction": "right", "amount": 50}
    assert await value_of(pool, url, right, script="scrollX") == 50
    page = {"type": "scroll", "direction": "down"}
    assert await value_of(pool, url, page, script="scrollY === innerHeight") is True
    into_view = {"type": "scroll", "selector": "#box"}
    assert await value_of(pool, url, into_view, script="scrollY") > 2000
    inside = {"type": "scroll", "selector": "#box", "direction": "down"}
    assert await value_of(pool, url, inside, script="[box.scrollTop, scrollY]") == [100, 0]


async def test_a_wait_ends_with_its_time_or_its_element(pool: Pool, site: Site) -> None:
    late = "<script>setTimeout(() => document.body.append(document.createElement('b')), 300)</script>"
    visited = await take(
        pool, given(site, late), {"type": "wait", "milliseconds": 50}, {"type": "wait", "selector": "b"}
    )
    assert all(report.ok for report in visited.actions)
    assert visited.actions[0].elapsed_ms >= 50


async def test_pictures_are_taken_on_the_way(pool: Pool, site: Site) -> None:
    html = "<style>body { margin: 0 }</style><div style='height: 2000px'></div><img src=/picture?on-the-way>"
    visited = await take(
        pool, given(site, html), {"type": "screenshot"}, {"type": "screenshot", "fullPage": True}
    )
    seen, full = (size_of(report.screenshot or b"") for report in visited.actions)
    assert seen == Size(1280, 720)
    assert (full.width, full.height >= 2000) == (1280, True)
    assert site.seen("/picture?on-the-way")


async def test_a_capture_comes_after_the_steps(pool: Pool, site: Site) -> None:
    html = "<style>body { margin: 0 }</style><button id=b onclick='big.hidden = false'>b</button>"
    html += "<div id=big hidden style='height: 3000px'></div>"
    click = {"type": "click", "selector": "#b"}
    visited = await take(pool, given(site, html), click, capture=Screenshot(full_page=True))
    assert visited.capture is not None
    assert size_of(visited.capture.body).height > 3000


async def test_a_click_leads_on_and_on(pool: Pool, site: Site) -> None:
    """Each page leads to the next; ten of them are no circle."""
    html = '<a id=on href=\'javascript:location.href = location.pathname + "?html=" + encodeURIComponent('
    html += 'document.body.innerHTML) + "&n=" + Math.random()\'>on</a>'
    visited = await take(pool, given(site, html), *[{"type": "click", "selector": "#on"}] * 10)
    assert all(report.ok for report in visited.actions)
    linked = await take(pool, given(site, FORM), {"type": "click", "selector": "#link"})
    assert linked.page.final_url == site.url("/page/static?clicked")
    assert DONE in linked.page.text
    scripted = {"type": "evaluate", "script": "location.href = '/page/static?scripted'"}
    assert (await take(pool, given(site, FORM), scripted)).page.final_url.endswith("?scripted")


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"type": "click", "selector": "#none"}, "element_not_found"),
    ({"type": "wait", "selector": "#none"}, "element_not_found"),
    ({"type": "scroll", "selector": "#none"}, "element_not_found"),
    ({"type": "click", "selector": "#hidden"}, "element_hidden"),
    ({"type": "click", "selector": "#covered"}, "element_covered"),
    ({"type": "type", "selector": "#fixed", "text": "x"}, "not_editable"),
    ({"type": "type", "selector": "#box", "text": "x"}, "not_editable"),
    ({"type": "select", "selector": "#name", "value": "x"}, "not_a_select"),
    ({"type": "select", "selector": "#colour", "value": "x"}, "option_not_found"),
    ({"type": "evaluate", "script": "nothing.at.all()"}, "script_error"),
    ({"type": "evaluate", "script": "throw 'x'.repeat(1e7)"}, "script_error"),
    ({"type": "evaluate", "script": "throw { toString() { throw 1 } }"}, "script_error"),
    ({"type": "evaluate", "script": "}{"}, "script_error"),
    ({"type": "evaluate", "script": "const a = {}; a.a = a; a"}, "result_not_json"),
    ({"type": "evaluate", "script": "() => 1"}, "result_not_json"),
    ({"type": "evaluate", "script": "'x'.repeat(2e7)"}, "result_too_large"),
    ({"type": "evaluate", "script": "Array(1e5).fill('xx')"}, "result_too_large"),
    ({"type": "evaluate", "script": "for (;;);"}, "timeout"),
    ({"type": "evaluate", "script": "new Promise(() => 0)"}, "timeout"),
]


async def test_a_step_that_cannot_be_taken_says_why(pool: Pool, site: Site) -> None:
    html = FORM + "<p id=hidden hidden>no</p><p id=covered>no</p>"
    url = given(site, html + "<div style='position: fixed; inset: 0; z-index: 9'></div>")
    optional = [
        action | {"optional": True, "timeout": 600 if why == "timeout" or "selector" in action else 20_000}
        for action, why in IMPOSSIBLE
    ]
    visited = await take(pool, url, *optional, {"type": "evaluate", "script": "1 + 1"}, timeout=60)
    *reports, last = visited.actions
    for (action, why), report in zip(IMPOSSIBLE, reports, strict=True):
        assert (report.type, report.ok, reason(report)) == (action["type"], False, why), action
        assert report.error
        assert len(report.error.message) < 600
    assert (last.ok, last.result) == (True, 2)
    assert "Form" in visited.page.text


async def test_a_visit_ends_with_a_step_that_fails(pool: Pool, site: Site) -> None:
    wait, click = {"type": "wait", "milliseconds": 1}, {"type": "click", "selector": "#none", "timeout": 300}
    details = await failed(pool, given(site, FORM), wait, click, {"type": "evaluate", "script": "1"})
    assert (details["action"], details["type"], details["reason"]) == (1, "click", "element_not_found")
    assert [report["ok"] for report in details["actions"]] == [True, False]
    json.dumps(details)


async def test_results_are_json(pool: Pool, site: Site) -> None:
    url = given(site, "<p>text")
    for source, value in (
        ("({ a: [1, null, 'x'] })", {"a": [1, None, "x"]}),
        ("Promise.resolve(3)", 3),
        ("(async () => (await fetch('/data')).status)()", 200),
        ("'half \\ud800'", "half \ufffd"),
        ("null", None),
    ):
        assert await value_of(pool, url, script=source) == value
    visited = await take(pool, url, {"type": "evaluate", "script": "undefined"})
    assert msgspec.to_builtins(visited.actions[0]).keys() == {"type", "ok", "elapsedMs"}


async def test_a_page_cannot_spoil_a_result(pool: Pool, site: Site) -> None:
    spoiled = "<script>Object.prototype.then = (go) => go('x'.repeat(1e9)); JSON.stringify = () => ({});"
    spoiled += "String.prototype.slice = () => 'y'.repeat(1e8); Promise = null</script>"
    details = await failed(pool, given(site, spoiled), {"type": "evaluate", "script": "1"})
    assert details["reason"] == "result_not_json"


async def test_scripts_run_in_the_page_and_under_its_policy(pool: Pool, site: Site) -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\"><p>text"
    assert await value_of(pool, given(site, policy), script="document.body.textContent") == "text"
    assert await value_of(pool, given(site, "<script>var mine = 5</script>"), script="mine") == 5
    assert await value_of(pool, given(site, "<p>"), script="typeof process + typeof chrome") == (
        "undefinedundefined"
    )


async def test_a_step_cannot_get_past_the_fence(pool: Pool, site: Site) -> None:
    async with canary("127.0.0.66") as bird:
        forbidden = f"http://127.0.0.66:{bird.port}/"
        html = f"<a id=out href='{forbidden}'>out</a>"
        click = {"type": "click", "selector": "#out"}
        details = await failed(pool, given(site, html), click)
        assert details["reason"] == "navigation_failed"
        assert "reserved addresses are not allowed" in details["actions"][0]["error"]["message"]
        script = f"location.href = '{forbidden}'"
        assert (await failed(pool, given(site, html), {"type": "evaluate", "script": script}))[
            "reason"
        ] == "navigation_failed"
        with pytest.raises(Problem) as caught:  # an optional step leaves no page that could be shown
            await take(pool, given(site, html), click | {"optional": True})
        assert caught.value.reason == "hostname_blocked"
        fetching = f"fetch('{forbidden}', {{ mode: 'no-cors' }}).then(() => 'out', () => 'in')"
        visited = await take(pool, given(site, "<p>"), {"type": "evaluate", "script": fetching})
        assert (visited.refused > 0, bird.connections) == (True, 0)


async def test_a_step_opens_nothing_beside_the_page(pool: Pool, site: Site) -> None:
    html = "<a id=new target=_blank href='/page/static?new'>n</a><a id=file href=/download download>f</a>"
    html += "<input id=choose type=file><button id=ask onclick='this.textContent = confirm(1)'>a</button>"
    html += "<button id=open onclick=\"this.textContent = window.open('/page/static?opened') === null\">"
    clicks = [{"type": "click", "selector": f"#{name}"} for name in ("new", "file", "choose", "ask", "open")]
    url = given(site, html)
    told = "[ask.textContent, document.getElementById('open').textContent, choose.files.length]"
    assert await value_of(pool, url, *clicks, script=told) == ["false", "true", 0]
    assert not site.seen("/page/static?new")
    assert not site.seen("/page/static?opened")


async def test_a_page_cannot_keep_its_visitor(pool: Pool, site: Site) -> None:
    html = "<a id=link href='/page/static?left'>l</a><script>onbeforeunload = () => 'stay'</script>"
    visited = await take(pool, given(site, html), {"type": "click", "selector": "#link"})
    assert visited.page.final_url == site.url("/page/static?left")


async def test_steps_end_with_the_visit(pool: Pool, site: Site) -> None:
    wait = {"type": "wait", "milliseconds": 30_000}
    details = await failed(pool, given(site, "<p>text"), wait, timeout=2)
    assert details["reason"] == "timeout"
    hang = "<a id=link href=/hang>l</a>"
    details = await failed(pool, given(site, hang), {"type": "click", "selector": "#link"}, timeout=2)
    assert details["reason"] == "timeout"
    assert await pool.contexts() == 0


async def test_a_bad_selector_is_told_before_the_visit(pool: Pool, site: Site) -> None:
    with pytest.raises(Problem) as caught:
        await take(pool, given(site, "<p>unvisited"), {"type": "click", "selector": "p["})
    assert caught.value.kind.code == "INVALID_SELECTOR"
    assert not site.seen("/given?html=" + quote("<p>unvisited"))
