"""Renders a page with a browser and prepares it to be kept and served without its scripts."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.parsers.parser_process import Prepared
from gossamer.flows.render.render_failure import add_label
from gossamer.problems import Problem
from gossamer.reach.browser.browser import Browsers
from gossamer.reach.page.visit import Awaited, Step, Visit, VisitResult, render_failed
from gossamer.state.jobs.job import Job
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.pages.page_key import DEFAULT_VARIANT, PageKey
from gossamer.state.render import renders
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Page
from gossamer.web.render.request import Bot, RenderErrorCode, RenderRequest, RenderResult
from gossamer.web.render.visitor import Visitor
from gossamer.web.url.url import Url, digest, shared_url

KIND: Final = renders.KIND
MAX_HTML_BYTES: Final = 10_000_000
GONE: Final = (404, 410)  # a page may declare one of these as its status and is still kept

# A site's middleware, ours or Prerender's, knows our request by these headers and does not ask us again.
MARK: Final = (("X-Gossamer", "render"), ("X-Prerender", "1"))

# The word in the User-Agent by which a site recognises each bot. The rest of the User-Agent stays our own:
# we do not pretend to be another client.
BOT_TOKENS: Final[Mapping[Bot, str]] = {
    "default": "",
    "chatgpt": "ChatGPT-User",
    "claude": "Claude-User",
    "perplexity": "Perplexity-User",
    "gemini": "Google-Extended",
}


class RenderPayload(Struct, frozen=True, kw_only=True):
    """What a render job carries."""

    request: RenderRequest
    key_id: str = ""  # the API key that asked, for the usage
    tier: str = ""  # of that key; further attempts count under its limit


def page_key(tenant: str, url: Url, variant: str = DEFAULT_VARIANT) -> PageKey:
    return PageKey(tenant, shared_url(url).href, variant)


def page_part(tenant: str, form: str, variant: str) -> str:
    """The start of the keys of all jobs that render a page with this cache form."""
    return digest("\n".join((KIND, tenant, form, variant)))[: renders.PAGE_PART]


def job_key(key: PageKey, request: RenderRequest) -> str:
    """Identical requests for a page share one job.

    A request with another timeout or selector has a job of its own, since it may fail where others do not."""
    options = f"{key.url}\n{request.timeout}\n{request.wait_for_selector or ''}"
    return page_part(key.tenant, key.form, key.variant) + digest(options)[: renders.OPTIONS_PART]


def visited(job: Job) -> Url | None:
    """The URL that a job renders; None if another version queued it and this one cannot decode it."""
    try:
        return Url.parse(msgspec.json.decode(job.payload_json, type=RenderPayload).request.url)
    except (msgspec.MsgspecError, Problem):
        return None


class Renderer(Struct, frozen=True):
    browsers: Browsers
    parsers: ParserPool
    user_agent: str
    clock: Callable[[], float] = time.time

    async def render(
        self, request: RenderRequest, *, tenant: str, patience: float = 1.0, step: Step | None = None
    ) -> CachedPage:
        """The page to keep. A page that must not be kept is a problem, as `render_failure` says.

        `patience` multiplies the timeout of the request."""
        try:
            rendered = await self.visit(request, tenant=tenant, patience=patience, step=step)
            prepared = await self.prepare(rendered.page, keep_scripts=request.keep_scripts)
            refuse(rendered.page, prepared, rendered.awaited)
        except Problem as problem:
            add_label(problem)
            raise
        return await asyncio.to_thread(self._to_cached, request, rendered, prepared)

    async def visit(
        self, request: RenderRequest, *, tenant: str, patience: float, step: Step | None
    ) -> VisitResult:
        visit = Visit(
            url=Url.parse(request.url),
            caller=tenant,
            timeout=request.timeout / 1000 * patience,
            wait_for=request.wait_for_selector,
            user_agent=self._user_agent(request.bot),
            headers=MARK,
            visitor=Visitor(device=request.device),
        )
        return await self.browsers.visit(visit, step)

    async def prepare(self, page: Page, *, keep_scripts: bool) -> Prepared:
        refuse_large(page)
        return await self.parsers.prepare(page, keep_scripts=keep_scripts)

    def _user_agent(self, bot: Bot) -> str | None:
        word = BOT_TOKENS[bot]
        return f"{self.user_agent} {word}" if word else None

    def _to_cached(self, request: RenderRequest, rendered: VisitResult, prepared: Prepared) -> CachedPage:
        served = prepared.served
        return CachedPage.of(
            served.html.encode("utf-8", "replace"),
            url=request.url,
            final_url=rendered.page.final_url,
            status=served.status or rendered.page.status,
            headers=served.headers,
            rendered_at=round(self.clock() * 1000),
            render_ms=rendered.page.elapsed_ms,
        )


def refuse_large(page: Page) -> None:
    if len(page.body) > MAX_HTML_BYTES:
        raise Problem(
            problems.CONTENT_TOO_LARGE,
            f"The rendered page has more than {MAX_HTML_BYTES // 1_000_000} MB.",
            details={"url": page.final_url, "reason": "content_too_large"},
        )


def refuse(page: Page, prepared: Prepared, awaited: Awaited | None = None) -> None:
    """Raise unless this is the page that was asked for.

    A page may declare that it is gone or elsewhere; one that declares an error is not kept. A page that is
    empty when its time was up, while something was still `awaited`, may be complete with more time."""
    said = prepared.served.status
    if page.status >= 400:
        raise render_failed(
            RenderErrorCode.PAGE_ERROR, f"The page answered with status {page.status}.", status=page.status
        )
    if said is not None and said >= 400 and said not in GONE:
        raise render_failed(
            RenderErrorCode.PAGE_ERROR, f"The page says that its status is {said}.", status=said
        )
    judgement = prepared.judgement
    if (said is None or said < 300) and judgement.outcome is not Outcome.OK:
        why = f" ({judgement.reason})" if judgement.reason else ""
        late = awaited is not None and judgement.outcome is Outcome.EMPTY
        raise render_failed(
            RenderErrorCode.RENDER_TIMEOUT if late else RenderErrorCode.PAGE_ERROR,
            f"The page is not the one that was asked for: {judgement.outcome}{why}.",
            awaited=awaited if late else None,
            outcome=judgement.outcome.value,
        )


def to_result(page: CachedPage, key: PageKey) -> RenderResult:
    return RenderResult(
        url=page.url,
        normalized_url=key.form,
        variant=key.variant,
        final_url=page.final_url,
        size=page.size,
        render_time=page.render_ms,
        etag=page.etag,
    )
