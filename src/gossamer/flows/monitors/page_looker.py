"""PageLooker: a page is fetched or visited once, and read in every way that the rules of a monitor need."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from gossamer.flows.pages.browse import Browsing
from gossamer.flows.pages.capture_request import ScreenshotRequest, Viewport
from gossamer.flows.pages.obtain import Obtainer
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.render.serve import LimitReached
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import RATE_LIMITED, Problem, Unavailable
from gossamer.web.extract.schema import fitting, schema
from gossamer.web.extract.schema.schema import Schema, schema_of
from gossamer.web.extract.value_spec import spec_of
from gossamer.web.monitors.monitor_spec import MonitorSpec
from gossamer.web.monitors.page_snapshot import PageSnapshot, WatchedText, watched_text, whole_text
from gossamer.web.monitors.rules.change_rule import AppearanceRule, FieldsRule, NumberRule
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Page
from gossamer.web.pages.page_request import PageRequest
from gossamer.web.pages.reading import Reading
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.render.actions import EvaluateAction
from gossamer.web.search.passages import OutlinedText

PICTURE_SECONDS: Final = 30.0
MAX_PICTURE_HEIGHT: Final = 4_000  # pixels
_HIDE: Final = """
const style = document.createElement('style');
style.textContent = %s + '{visibility:hidden!important}';
document.head.appendChild(style);
"""


@dataclass(frozen=True, slots=True)
class PageLook:
    """What a look has found, with the picture if one was taken."""

    snapshot: PageSnapshot
    picture: bytes | None = field(default=None, repr=False)


class PageLooker(Struct, frozen=True):
    obtainer: Obtainer
    browsing: Browsing | None
    parsers: ParserPool
    clock: Callable[[], float] = msgspec.field(default=time.time)

    async def check(self, spec: MonitorSpec) -> None:
        """Raises `Problem` for a selector that cannot be used."""
        include = (*spec.look.include, *spec.selectors)
        await self.parsers.check_selectors(ReadingOptions(include=include, exclude=spec.look.exclude))

    async def look(self, spec: MonitorSpec, url: str, caller: Caller) -> PageLook:
        """A page that cannot be had is a finding too. Raises `Unavailable` for outages of our own."""
        request = spec.look.request(url)
        try:
            if spec.appearance is not None:
                return await self._picture(spec, spec.appearance, request, caller)
            obtained = await self.obtainer.obtain(
                request,
                caller,
                lambda page: self.read(spec, page),
                lambda made: made.outcome is Outcome.EMPTY and made.reason == "script_needed",
            )
            return PageLook(replace(obtained.made, url=url))
        except Unavailable:
            raise
        except LimitReached:
            return PageLook(self._failed(url, RATE_LIMITED.code))
        except Problem as problem:
            return PageLook(self._failed(url, problem.kind.code, problem.reason or ""))

    def _failed(self, url: str, code: str, reason: str = "") -> PageSnapshot:
        return PageSnapshot(url=url, taken_at=self.clock(), problem=code, reason=reason, is_read=False)

    async def _picture(
        self, spec: MonitorSpec, rule: AppearanceRule, request: PageRequest, caller: Caller
    ) -> PageLook:
        """The page and its picture, of one visit."""
        if self.browsing is None:
            raise Unavailable("browser", "there is none here")
        hidden = ", ".join(rule.hide)
        shot = ScreenshotRequest(
            request.url,
            viewport=Viewport(),
            selector=rule.selector or UNSET,
            full_page=rule.full_page,
            max_height=MAX_PICTURE_HEIGHT,
            format="png",
            wait_for_selector=request.wait_for_selector,
            headers=request.headers,
            device=request.device,
            locale=request.locale,
            timeout=round(min(request.seconds, PICTURE_SECONDS) * 1000),
            actions=(EvaluateAction(script=_HIDE % _quoted(hidden)),) if hidden else (),
            device_scale_factor=1.0,
        )
        visited = await self.browsing.visit(shot.visit(caller.tenant_id), caller)
        snapshot = replace(await self.read(spec, visited.page), url=request.url)
        picture = visited.capture.body if visited.capture is not None and snapshot.is_good else None
        return PageLook(snapshot, picture)

    async def read(self, spec: MonitorSpec, page: Page) -> PageSnapshot:
        look = spec.look
        main = await self.parsers.read(
            page,
            ReadingOptions(
                main_content=not look.whole_page,
                include=look.include,
                exclude=look.exclude,
                markdown=False,
                html=False,
                links=False,
            ),
        )
        snapshot = PageSnapshot(
            url=page.url,
            taken_at=self.clock(),
            title=main.title,
            status=page.status,
            outcome=main.judgement.outcome,
            reason=main.judgement.reason,
            language=main.metadata.language or "",
        )
        if not snapshot.is_good:
            return replace(snapshot, is_read=False)
        watched = await self._watched(spec, page, main)
        return replace(
            snapshot,
            text=watched.text,
            headings=watched.headings,
            rest=watched.rest,
            parts={selector: await self._part(page, selector) for selector in spec.selectors},
            fields=await self._fields(spec, page),
        )

    async def _watched(self, spec: MonitorSpec, page: Page, main: Reading) -> WatchedText:
        outlined = OutlinedText(main.text, main.headings)
        look = spec.look
        if look.whole_page or look.include or main.fallback:
            return whole_text(outlined)
        whole = await self.parsers.read(
            page,
            ReadingOptions(main_content=False, exclude=look.exclude, markdown=False, html=False, links=False),
        )
        return watched_text(outlined, OutlinedText(whole.text, whole.headings))

    async def _part(self, page: Page, selector: str) -> str:
        options = ReadingOptions(
            main_content=False, include=(selector,), markdown=False, html=False, links=False
        )
        return (await self.parsers.read(page, options)).text

    async def _fields(self, spec: MonitorSpec, page: Page) -> dict[str, Any]:
        """Without a language model: its answers differ from one time to the next."""
        found: dict[str, Any] = {}
        for number, rule in enumerate(spec.rules):
            wanted = _schema_of(rule)
            if wanted is not None:
                extraction = await self.parsers.extract(page, wanted, with_text=False)
                fitted = fitting.fit(
                    wanted, spec_of(wanted), extraction.data, extraction.sources, complete=True
                )
                found[str(number)] = fitted.data
        return found


def _schema_of(rule: Any) -> Schema | None:
    if isinstance(rule, FieldsRule):
        return rule.data_schema
    if isinstance(rule, NumberRule) and rule.field is not None:
        return schema.read(schema_of({rule.field: "number"}))
    return None


def _quoted(text: str) -> str:
    """As a string of JavaScript."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ").replace("<", "\\x3c")
    return f"'{escaped}'"
