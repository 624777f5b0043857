"""Timers and animations that a page would be waited for have their end at once where nothing else happens."""

from typing import Any

import pytest

from gossamer.reach.page import waiting
from gossamer.reach.page.visit import Screenshot
from tests.browser.pages import DONE, SAID, script
from tests.browser.pools import Pool
from tests.doors.fetches import say
from tests.site.server import Site

FOREVER = 60_000.0  # milliseconds; no visit here has as many
FILL = f"out.textContent = {SAID}"
EARLY = {
    "one": f"setTimeout(() => {FILL}, 50_000)",
    "with what it is given": f"setTimeout((text) => out.textContent = text, 50_000, {SAID})",
    "by another": f"setTimeout(() => setTimeout(() => {FILL}, 20_000), 20_000)",
    "in their order": (
        "const add = (letters) => out.textContent += letters;"
        "setTimeout(add, 30_000, ' here'); setTimeout(add, 10_000, 'all');"
        "setTimeout(add, 20_000, ' of it is')"
    ),
    "never one that another clears": (
        f"setTimeout(() => {{ clearTimeout(wrong); {FILL} }}, 30_000);"
        "const wrong = setTimeout(() => out.remove(), 30_001)"
    ),
    "never before what another has asked for": (
        f"let told = 'too early'; const ask = () => fetch('/data?seconds=1').then(() => told = {SAID});"
        "setTimeout(ask, 10_000); setTimeout(() => out.textContent = told, 20_000)"
    ),
    "an animation": (
        f"out.animate({{ opacity: [0, 1] }}, 50_000).finished.then(() => {FILL})"
    ),
}  # fmt: skip


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every timer counts as one that is due soon."""
    monkeypatch.setitem(waiting.BOUNDS, "soon", FOREVER)


@pytest.fixture
def restful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page in which anything is left to wait for is never quiet."""
    monkeypatch.setitem(waiting.BOUNDS, "long", FOREVER)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("code", EARLY.values(), ids=EARLY)
async def test_a_timer_runs_early_where_nothing_else_happens(pool: Pool, site: Site, code: str) -> None:
    rendered = await pool.visit(site.url(say(script(code))))
    assert DONE in rendered.page.text
    assert rendered.awaited is None


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    ("code", "how"),
    [
        (EARLY["one"], {"capture": Screenshot()}),
        (f"new Worker('data:text/javascript,'); {EARLY['one']}", {}),
        (f"new EventSource('/events-that-do-not-end'); {EARLY['one']}", {}),
    ],
    ids=["seen", "worker", "stream"],
)
async def test_no_timer_runs_early_where_a_page_is_seen_or_something_else_may_happen(
    pool: Pool, site: Site, code: str, how: dict[str, Any]
) -> None:
    rendered = await pool.visit(site.url(say(script(code, f"<p id=out>{'word ' * 60}</p>"))), **how)
    assert DONE not in rendered.page.text


async def test_a_callback_that_looks_at_the_clock_gets_its_time(pool: Pool, site: Site) -> None:
    code = (
        "const due = performance.now() + 400;"
        "const later = () => { const left = due - performance.now();"
        f" if (left > 0) setTimeout(later, left); else {FILL} }}; later()"
    )
    rendered = await pool.visit(site.url(say(script(code))))
    assert DONE in rendered.page.text


async def test_timers_that_add_something_each_time_are_waited_for(pool: Pool, site: Site) -> None:
    code = (
        "let left = 9; const add = () => { out.append(left); left -= 1;"
        f" if (left) setTimeout(add, 150); else {FILL} }}; add()"
    )
    rendered = await pool.visit(site.url(say(script(code))))
    assert DONE in rendered.page.text


_WORKER = "const worker = new Worker(URL.createObjectURL(new Blob(['onmessage = () => { {} }'])));"
LEFT = {
    "a pulse": "const pulse = () => setTimeout(pulse, 200); pulse()",
    "a worker that has answered": _WORKER.replace("{}", "postMessage(1)") + "worker.postMessage(1)",
    "a worker that was ended": _WORKER.replace("{}", "") + "worker.postMessage(1); worker.terminate()",
}
WAITED_FOR = {
    "a worker that has not answered": _WORKER.replace("{}", "") + "worker.postMessage(1)",
    "a worker that has answered once of twice": _WORKER.replace("{}", "self.once ??= postMessage(1) ?? 1")
    + "worker.postMessage(1); worker.postMessage(2)",
}


@pytest.mark.usefixtures("restful")
@pytest.mark.parametrize("code", LEFT.values(), ids=LEFT)
async def test_what_can_add_nothing_is_not_waited_for(pool: Pool, site: Site, code: str) -> None:
    rendered = await pool.visit(site.url(say(script(code, f"<p>{'word ' * 60}</p>"))))
    assert rendered.settled


@pytest.mark.usefixtures("restful")
@pytest.mark.parametrize("code", WAITED_FOR.values(), ids=WAITED_FOR)
async def test_a_worker_is_waited_for_until_it_has_answered_everything(
    pool: Pool, site: Site, code: str
) -> None:
    rendered = await pool.visit(site.url(say(script(code, f"<p>{'word ' * 60}</p>"))))
    assert not rendered.settled
