"""A page that has nothing to show yet is waited for, as long as something may come and there is time."""

import asyncio
import re
from typing import Any

import pytest

from gossamer.reach.page import shell, traffic, waiting
from gossamer.reach.page.visit import Awaited, VisitResult
from gossamer.reach.page.waiting import LiveDocument
from tests.browser.pages import script
from tests.browser.pools import Pool, open_pool
from tests.browser.slow import DONE, PAGES, RELEASED
from tests.doors.fetches import say
from tests.site.server import Site

BY_THEMSELVES = ("timer", "idle")  # nothing of them can be held back


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Is set when a page was quiet, or out of patience, and has been found to be a shell."""
    monkeypatch.setattr(traffic, "PATIENCE", 0.3)
    monkeypatch.setattr(waiting, "MAX_SECONDS", 1.0)
    event, run = asyncio.Event(), LiveDocument.run

    async def spied(document: LiveDocument, name: str, *given: Any) -> Any:
        found = await run(document, name, *given)
        if name == "content":
            event.set()
        return found

    monkeypatch.setattr(LiveDocument, "run", spied)
    return event


def visible(rendered: VisitResult) -> str:
    return re.sub(r"(?s)<script.*?</script>", "", rendered.page.text)


@pytest.mark.parametrize("name", [name for name in PAGES if name not in BY_THEMSELVES])
async def test_a_shell_is_waited_for_until_what_fills_it_has_come(
    pool: Pool, site: Site, measured: asyncio.Event, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "observer":  # it is quiet, and then its window grows: that takes no patience, but time
        monkeypatch.setattr(waiting, "MAX_SECONDS", 60.0)
    key = f"{name}-released"
    url = site.url(f"/slow/{name}?key={key}&seconds=2.5")
    visit = asyncio.create_task(pool.visit(url, timeout=60))
    seen = asyncio.create_task(measured.wait())
    await asyncio.wait((visit, seen), return_when=asyncio.FIRST_COMPLETED)
    assert not visit.done(), visible(visit.result())
    RELEASED.add(key)
    rendered = await visit
    seen.cancel()
    assert visible(rendered).count(DONE) == (2 if name == "observer" else 1)
    assert rendered.awaited is None


@pytest.mark.parametrize("name", BY_THEMSELVES)
async def test_a_shell_that_fills_itself_after_a_while_is_waited_for(
    pool: Pool, site: Site, name: str
) -> None:
    rendered = await pool.visit(site.url(f"/slow/{name}?key=by-itself"), timeout=60)
    assert DONE in visible(rendered)
    assert rendered.awaited is None


async def test_an_idle_callback_that_was_cancelled_is_not_waited_for(pool: Pool, site: Site) -> None:
    page = script("cancelIdleCallback(requestIdleCallback(() => {}))", "<div id=root></div>")
    rendered = await pool.visit(site.url(say(page)), timeout=6)
    assert rendered.awaited is None


AWAITED = {
    "api": Awaited.NETWORK,
    "socket": Awaited.NETWORK,
    "long-timer": Awaited.CONTENT,
    "streaming": Awaited.DOCUMENT,
    "ready": Awaited.PRERENDER_READY,
}


async def test_what_was_waited_for_in_vain_is_told(site: Site) -> None:
    """All at once: each takes all of its time, of which a busy machine needs some to show the page."""
    urls = [site.url(f"/slow/{name}?key=never&seconds=60") for name in AWAITED]
    async with open_pool(places=len(urls)) as pool:
        visits = await asyncio.gather(*(pool.visit(url, timeout=12) for url in urls))
    assert {name: visit.awaited for name, visit in zip(AWAITED, visits, strict=True)} == AWAITED
    for visit in visits:
        assert DONE not in visible(visit)
        assert visit.timings.wait_ms >= 1_000


EMPTY = {
    "static": "<!doctype html><title>A page</title><body></body>",
    "shell": "<!doctype html><title>A page</title><div id=root></div><script>1</script>",
    "broken": "<!doctype html><title>A page</title><div id=root></div><script src=/nowhere></script>",
    "late timer": script("setTimeout(() => 1, 900000)", "<div id=root></div>"),
}


@pytest.mark.parametrize("html", EMPTY.values(), ids=EMPTY)
async def test_what_nothing_can_fill_is_not_waited_for(pool: Pool, site: Site, html: str) -> None:
    rendered = await pool.visit(site.url(say(html)), timeout=60)
    assert rendered.awaited is None
    assert rendered.timings.wait_ms < 30_000  # of 58,000 that there are


def test_how_long_a_shell_is_given_follows_from_what_may_fill_it() -> None:
    def filled(calm: float, *, expected: bool = False, live: bool = False, **seen: Any) -> bool:
        content = shell.PageContent(
            letters=0, own=0, said=[], mounted=0, unfilled=False, loader=False, media=False,
            still=1000 * calm, ready=True, coming=False, lowest=0, **{"due": None, "pulse": False} | seen,
        )  # fmt: skip
        return content.may_be_filled(20.0, expected=expected, live=live, calm=calm)

    assert filled(0.9)
    assert not filled(1.0)
    assert filled(9.9, pulse=True)
    assert not filled(10.0, pulse=True)
    assert filled(9.9, live=True)
    assert not filled(10.0, live=True)
    assert filled(1e9, expected=True)
    assert filled(1e9, due=19_000.0)
    assert not filled(1e9, due=21_000.0)


@pytest.mark.parametrize(
    ("body", "is_shell"),
    [
        ("<div id=root></div>", True),
        ("<div id=root>A few words</div>", True),
        (f"<div id=root>{'word ' * 50}</div>", False),
        (f"<nav>{'word ' * 100}</nav><main></main>", True),
        (f"<nav>{'word ' * 100}</nav><main><p>Opened at nine.</p></main>", False),
        (f"<nav>{'word ' * 100}</nav><main><img src=x></main>", False),
        ("<h1>News</h1><p>Loading…</p>", True),
        ("<h1>News</h1><p>Wird geladen</p>", True),
        ("<h1>News</h1><p class='card-skeleton' style='height: 9px'></p>", True),
        ("<h1>News</h1><p class='card-skeleton' style='display: none'></p>", False),
        ("<h1>Hello</h1>", False),
        ("<p hidden>Hello</p>", True),
        ("<canvas></canvas>", False),
    ],
)
async def test_what_is_a_shell(
    pool: Pool, site: Site, monkeypatch: pytest.MonkeyPatch, body: str, is_shell: bool
) -> None:
    found: list[bool] = []
    judge = shell.PageContent.is_shell.fget  # type: ignore[attr-defined]

    def judged(content: shell.PageContent) -> bool:
        found.append(judge(content))
        return False

    monkeypatch.setattr(shell.PageContent, "is_shell", property(judged))
    await pool.visit(site.url(say(f"<!doctype html><title>A page</title>{body}<script>1</script>")))
    assert found[-1] is is_shell


async def test_what_is_asked_for_further_down_is_waited_for_however_long_it_takes(
    pool: Pool, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic, "PATIENCE", 0.2)
    monkeypatch.setattr(waiting, "MAX_SECONDS", 0.5)
    key = "further-down"
    visit = asyncio.create_task(pool.visit(site.url(f"/slow/observer?key={key}"), timeout=60))
    async with asyncio.timeout(50):
        while not site.seen(f"/held/second?key={key}"):  # by what was not seen at first
            assert not visit.done()
            await asyncio.sleep(0.01)
    RELEASED.add(key)
    assert visible(await visit).count(DONE) == 2


@pytest.mark.parametrize(
    ("below", "is_shown"),
    [
        ("<section class=observed></section>", True),
        ("<section class=observed><h2>Reviews</h2></section>", True),
        ("<h2 class=observed></h2>", True),
        ("<h2 class=observed>The second part</h2>", False),  # for a table of contents
        (f"<section class=observed>{'word ' * 10}</section>", False),
        ("<img class=observed alt=''>", False),
    ],
)
async def test_the_window_grows_only_for_what_waits_to_be_filled(
    pool: Pool, site: Site, below: str, is_shown: bool
) -> None:
    observe = (
        "new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting))"
        " document.body.dataset.shown = 'yes' }).observe(document.querySelector('.observed'))"
    )
    body = f"<p>{'word ' * 60}</p><div style='height: 6000px'></div>{below}"
    rendered = await pool.visit(site.url(say(script(observe, body))))
    assert ("data-shown" in rendered.page.text) is is_shown
