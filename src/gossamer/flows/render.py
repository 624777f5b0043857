"""Render: a page as a browser sees it, made ready to be kept and served to who runs no scripts."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gossamer import problems
from gossamer.flows.render_failure import Code, failed, translated
from gossamer.flows.workbench import Prepared
from gossamer.flows.workshop import Workshop
from gossamer.problems import Problem
from gossamer.reach.browser import Browsers
from gossamer.reach.visit import Rendered, Step, Visit
from gossamer.state import renders
from gossamer.state.page_cache import CachedPage, PageKey
from gossamer.web.outcome import Outcome
from gossamer.web.page import Page
from gossamer.web.url import Url, cache_form, digest

KIND: Final = renders.KIND
LARGEST: Final = 10_000_000  # bytes of HTML
GONE: Final = (404, 410)  # what a page may say of itself and be kept
LONGEST: Final = 60.0  # seconds that may be asked for; a second attempt after a timeout has twice as much

# By this a site's own middleware knows that it is we who ask, and does not ask us for the page again.
MARK: Final = (("X-Gossamer", "render"),)

# For whom a page may be rendered apart, and the word in the User-Agent by which a site knows them. The rest
# of the User-Agent stays our own: we do not pretend to be somebody else.
BOTS: Final[Mapping[str, str]] = {
    "default": "",
    "chatgpt": "ChatGPT-User",
    "claude": "Claude-User",
    "perplexity": "Perplexity-User",
    "gemini": "Google-Extended",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What of a page makes it another one in the cache."""

    bot: str = "default"
    keep_scripts: bool = False

    @property
    def variant(self) -> str:
        return f"{self.bot}+scripts" if self.keep_scripts else self.bot


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What a job carries."""

    url: str
    bot: str = "default"
    keep_scripts: bool = False
    wait_for: str | None = None
    timeout: float = 30.0  # seconds
    key_id: str = ""  # who asked, for the usage

    @property
    def look(self) -> Look:
        return Look(bot=self.bot, keep_scripts=self.keep_scripts)


def page_key(tenant: str, url: Url, look: Look) -> PageKey:
    return PageKey(tenant, cache_form(url), look.variant)


def page_part(key: PageKey) -> str:
    """With this the keys of all jobs begin that render the page."""
    return digest(f"{KIND}\n{key.name}")[: renders.PAGE_PART]


def job_key(key: PageKey, wanted: Payload) -> str:
    """One job for all who ask for a page in the same manner. Who waits for something else, or less long, or
    asks by another scheme, must not decide for the others whether the page can be had."""
    manner = f"{Url.parse(wanted.url).scheme}\n{wanted.timeout:g}\n{wanted.wait_for or ''}"
    return page_part(key) + digest(manner)[: renders.MANNER_PART]


@dataclass(frozen=True, slots=True)
class Renderer:
    browsers: Browsers
    workshop: Workshop
    user_agent: str
    clock: Callable[[], float] = time.time

    async def render(
        self, wanted: Payload, *, tenant: str, patience: float = 1.0, step: Step | None = None
    ) -> CachedPage:
        """The page to keep. Whatever it is that should not be kept is a problem, as `render_failure` says.

        `patience` is how many times the timeout that was asked for it may take."""
        try:
            rendered = await self.visit(wanted, tenant=tenant, patience=patience, step=step)
            prepared = await self.prepare(rendered.page, keep_scripts=wanted.keep_scripts)
        except Problem as problem:
            raise translated(problem) from problem
        refuse(rendered.page, prepared)
        return await asyncio.to_thread(self._cached, wanted, rendered, prepared)

    async def visit(self, wanted: Payload, *, tenant: str, patience: float, step: Step | None) -> Rendered:
        visit = Visit(
            url=Url.parse(wanted.url),
            caller=tenant,
            timeout=wanted.timeout * patience,
            wait_for=wanted.wait_for,
            user_agent=self._user_agent(wanted.bot),
            headers=MARK,
        )
        return await self.browsers.visit(visit, step)

    async def prepare(self, page: Page, *, keep_scripts: bool) -> Prepared:
        refuse_large(page)
        return await self.workshop.prepare(page, keep_scripts=keep_scripts)

    def _user_agent(self, bot: str) -> str | None:
        word = BOTS.get(bot)
        return f"{self.user_agent} {word}" if word else None

    def _cached(self, wanted: Payload, rendered: Rendered, prepared: Prepared) -> CachedPage:
        served = prepared.served
        return CachedPage.of(
            served.html.encode("utf-8", "replace"),
            url=wanted.url,
            final_url=rendered.page.final_url,
            status=served.status or rendered.page.status,
            headers=served.headers,
            rendered_at=round(self.clock() * 1000),
            render_ms=rendered.page.elapsed_ms,
        )


def refuse_large(page: Page) -> None:
    if len(page.body) > LARGEST:
        raise Problem(
            problems.CONTENT_TOO_LARGE,
            f"The rendered page has more than {LARGEST // 1_000_000} MB.",
            details={"url": page.final_url, "reason": "content_too_large"},
        )


def refuse(page: Page, prepared: Prepared) -> None:
    """What is not the page that was asked for. One that says of itself that it is gone or elsewhere is taken
    at its word; one that says that something went wrong is not worth keeping either."""
    said = prepared.served.status
    if page.status >= 400:
        raise failed(Code.PAGE_ERROR, f"The page answered with status {page.status}.", status=page.status)
    if said is not None and said >= 400 and said not in GONE:
        raise failed(Code.PAGE_ERROR, f"The page says that its status is {said}.", status=said)
    judgement = prepared.judgement
    if (said is None or said < 300) and judgement.outcome is not Outcome.OK:
        why = f" ({judgement.reason})" if judgement.reason else ""
        raise failed(
            Code.PAGE_ERROR,
            f"The page is not the one that was asked for: {judgement.outcome}{why}.",
            outcome=judgement.outcome.value,
        )


def told(page: CachedPage, key: PageKey) -> dict[str, Any]:
    """The result of the job."""
    return {
        "url": page.url,
        "normalizedUrl": key.url,
        "variant": key.variant,
        "finalUrl": page.final_url,
        "size": page.size,
        "renderTime": page.render_ms,
        "etag": page.etag,
    }
