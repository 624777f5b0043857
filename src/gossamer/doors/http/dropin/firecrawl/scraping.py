"""Scraping: one page in the formats that are asked for, by as few calls as possible."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, cast

from gossamer.doors.http.core.relay import RelayedApi
from gossamer.doors.http.dropin.firecrawl.documents import add_warnings, document, picture
from gossamer.doors.http.dropin.firecrawl.page_wishes import PageWishes
from gossamer.problems import Problem

SCRAPES_AT_ONCE: Final = 4  # for one request


async def scrape(api: RelayedApi, url: str, wishes: PageWishes) -> dict[str, Any]:
    """The page as a document. Steps on the page are taken once, so the picture is then one of the steps."""
    steps = bool(wishes.visit.get("actions"))
    shot_by_step = steps and wishes.screenshot is not None
    calls: dict[str, Awaitable[Any]] = {}
    if wishes.texts or wishes.summary or shot_by_step or not (wishes.screenshot or wishes.extracts):
        calls["page"] = _fetch(api, url, wishes)
    if wishes.screenshot is not None and not shot_by_step:
        calls["screenshot"] = api.ask("POST", "/screenshot", {"url": url, **wishes.capture_body()})
    for name, wanted in wishes.extracts.items():
        calls[name] = api.ask("POST", "/extract", {"url": url, **wishes.body(), **wanted})
    answers = dict(zip(calls, await _all(calls.values()), strict=True))
    shown = _shown(url, answers, credits=len(calls))
    if shot_by_step:
        shown["screenshot"] = shown["actions"]["screenshots"].pop()
    _add_extracts(shown, answers, wishes)
    if wishes.summary:
        _add_summary(shown, answers["page"])
    add_warnings(shown, wishes.warnings)
    return shown


async def scrape_several(api: RelayedApi, urls: list[str], wishes: PageWishes) -> list[dict[str, Any] | None]:
    """One document for each URL; None for those that cannot be had."""
    free = asyncio.Semaphore(SCRAPES_AT_ONCE)

    async def one(url: str) -> dict[str, Any]:
        async with free:
            return await scrape(api, url, wishes)

    found = await asyncio.gather(*(one(url) for url in urls), return_exceptions=True)
    return [shown if isinstance(shown, dict) else None for shown in found]


async def _fetch(api: RelayedApi, url: str, wishes: PageWishes) -> Any:
    body = _fetch_body(url, wishes)
    if not wishes.summary:
        return await api.ask("POST", "/fetch", body)
    summed = {**body, "formats": [*body["formats"], "llm"], "summary": True}
    try:
        page = await api.ask("POST", "/fetch", summed)
    except Problem as problem:
        if problem.reason != "no_model":
            raise
        return await api.ask("POST", "/fetch", body)
    if "markdown" not in wishes.texts:
        del page["content"]  # what the model has read
    return page


def _fetch_body(url: str, wishes: PageWishes) -> dict[str, Any]:
    body = {
        "url": url,
        **wishes.body(),
        **wishes.reading,
        "formats": [*dict.fromkeys(wishes.texts), "metadata"],
    }
    if body.get("actions") and wishes.screenshot is not None:
        last = {"type": "screenshot", "fullPage": wishes.screenshot["fullPage"]}
        body["actions"] = [*body["actions"], last]
    return body


def _shown(url: str, answers: dict[str, Any], credits: int) -> dict[str, Any]:
    """The document, from whichever answer tells most about the page."""
    shown = document(next(iter(answers.values())), url, credits)
    taken = answers.get("screenshot")
    if taken is not None:
        shown["screenshot"] = picture(taken["image"], f"image/{taken['format']}")
    return shown


def _add_extracts(shown: dict[str, Any], answers: dict[str, Any], wishes: PageWishes) -> None:
    for name in wishes.extracts:
        shown[name] = answers[name].get("data")
        if not answers[name].get("valid", True):
            add_warnings(shown, ["The page lacks something that the schema requires."])


def _add_summary(shown: dict[str, Any], page: dict[str, Any]) -> None:
    """A page that is not the one that was asked for has no summary, and a warning already."""
    if page.get("summary"):
        shown["summary"] = page["summary"]
    elif page.get("model"):
        add_warnings(shown, [f"The language model has failed: {page['model']['reason']}."])
    elif page["outcome"] == "ok":
        add_warnings(shown, ["A summary needs a language model, and the server has none."])


async def _all(calls: Any) -> list[Any]:
    """All answers, or the first problem, once no call is under way any more."""
    answers = await asyncio.gather(*calls, return_exceptions=True)
    for one in answers:
        if isinstance(one, BaseException):
            raise one
    return cast("list[Any]", answers)
