"""PageWishes: what is asked of a page, in our words, and what of it we cannot do."""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from gossamer.doors.http.dropin.firecrawl.job_id import FORMATS, Wish
from gossamer.doors.http.dropin.firecrawl.requests import ScrapeOptions
from gossamer.flows.pages.capture_request import MAX_CAPTURE_TIMEOUT
from gossamer.problems import validation_error
from gossamer.web.pages.page_request import MAX_TIMEOUT, MIN_RENDER_TIMEOUT
from gossamer.web.render.actions import MAX_WAIT
from gossamer.web.url.sent_headers import SENDABLE_HEADERS

_LOCALE: Final = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}")
_FULL_PAGE: Final = "screenshot@fullPage"  # of v1
_BASIC_PROXIES: Final = ("basic", "auto")


class PageWishes(Struct):
    """What is asked of a page."""

    texts: list[str] = field(default_factory=list)  # formats that a fetched page has
    summary: bool = False  # by a language model
    screenshot: dict[str, Any] | None = None  # for POST /screenshot
    extracts: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # for POST /extract, by the answer's key
    visit: dict[str, Any] = field(default_factory=dict)  # for every call about the page
    reading: dict[str, Any] = field(default_factory=dict)  # for POST /fetch alone
    timeout: int | None = None  # milliseconds
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, options: ScrapeOptions) -> "PageWishes":
        wishes = cls()
        for given in ["markdown"] if options.formats is None else options.formats:
            wishes._add_format(given, options)
        wishes.reading = {
            "mainContent": options.only_main_content is not False,
            "include": options.include_tags or [],
            "exclude": options.exclude_tags or [],
        }
        wishes.timeout = None if options.timeout is None else max(1, int(options.timeout))
        wishes._plan_visit(options)
        return wishes

    @property
    def for_jobs(self) -> Wish:
        """What the pages of a job can have of it."""
        found = Wish(0)
        for name in self.texts:
            found |= FORMATS[name]
        if self.screenshot is not None:
            found |= Wish.SCREENSHOT
        if not self.reading["mainContent"]:
            found |= Wish.FULL_PAGE
        return found

    def body(self, most: int = MAX_TIMEOUT) -> dict[str, Any]:
        """What every call about the page has in common."""
        least = MIN_RENDER_TIMEOUT if self.visit["render"] == "always" or most < MAX_TIMEOUT else 1
        timeout = {} if self.timeout is None else {"timeout": min(max(self.timeout, least), most)}
        return {**self.visit, **timeout}

    def capture_body(self) -> dict[str, Any]:
        body = {**self.body(MAX_CAPTURE_TIMEOUT), **(self.screenshot or {})}
        body.pop("render")
        return body

    # Formats.

    def _add_format(self, given: str | Mapping[str, Any], options: ScrapeOptions) -> None:
        details: Mapping[str, Any] = {"type": given} if isinstance(given, str) else given
        name = str(details.get("type", ""))
        if name in FORMATS:
            self.texts.append(name)
        elif name in ("screenshot", _FULL_PAGE):
            self.screenshot = _screenshot(details)
        elif name == "json":
            self.extracts["json"] = _extract({**(options.json_options or options.extract or {}), **details})
        elif name == "extract":
            self.extracts["extract"] = _extract(options.extract or options.json_options or {})
        elif name == "summary":
            self.summary = True
        else:
            self.warnings.append(f"The format {name[:50]!r} is not supported.")

    # The visit.

    def _plan_visit(self, options: ScrapeOptions) -> None:
        actions = self._actions(options)
        visit: dict[str, Any] = {"render": "never" if options.fast_mode else "auto", **_caching(options)}
        if actions:
            visit |= {"render": "always", "actions": actions}
        if options.headers:
            visit["headers"] = self._headers(options.headers)
        if options.mobile:
            visit["device"] = "mobile"
        if options.block_ads is not False:
            visit["block"] = ["ads"]
        languages = (options.location and options.location.languages) or []
        if languages and _LOCALE.fullmatch(languages[0]):
            visit["locale"] = languages[0]
        if options.location and options.location.country:
            self.warnings.append("`location.country` is not supported: pages are visited from this server.")
        if options.proxy and options.proxy not in _BASIC_PROXIES:
            self.warnings.append(f"The proxy {options.proxy[:20]!r} is not supported.")
        self.visit = visit

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        dropped = [name for name in headers if name.lower() not in SENDABLE_HEADERS]
        if dropped:
            self.warnings.append(f"These headers are not sent along: {', '.join(dropped)[:200]}.")
        return {name: value for name, value in headers.items() if name not in dropped}

    def _actions(self, options: ScrapeOptions) -> list[dict[str, Any]]:
        pause = int(options.wait_for or 0)
        found = [{"type": "wait", "milliseconds": min(pause, MAX_WAIT)}] if pause > 0 else []
        for action in options.actions or ():
            ours = _action(action)
            if ours is None:
                self.warnings.append(f"The action {str(action.get('type'))[:30]!r} is not supported.")
            else:
                found.append(ours)
        return found


def _caching(options: ScrapeOptions) -> dict[str, Any]:
    if options.max_age is None or options.max_age <= 0 or options.store_in_cache is False:
        return {}
    return {"cache": True, "maxAge": int(options.max_age // 1000)}


def _screenshot(details: Mapping[str, Any]) -> dict[str, Any]:
    ours: dict[str, Any] = {"fullPage": details["type"] == _FULL_PAGE or bool(details.get("fullPage"))}
    if details.get("quality"):
        ours |= {"format": "jpeg", "quality": details["quality"]}
    if details.get("viewport"):
        ours["viewport"] = details["viewport"]
    return ours


def _extract(details: Mapping[str, Any]) -> dict[str, Any]:
    prompt = " ".join(str(details[name]) for name in ("systemPrompt", "prompt") if details.get(name))
    schema = details.get("schema")
    if not schema and not prompt:
        raise validation_error("The format 'json' needs a `schema` or a `prompt`.")
    return {**({"schema": schema} if schema else {}), **({"instructions": prompt} if prompt else {})}


def _action(action: Mapping[str, Any]) -> dict[str, Any] | None:
    """In our words; None if we have none for it."""
    match action.get("type"):
        case "wait":
            return _picked(action, "wait", milliseconds="milliseconds", selector="selector")
        case "click":
            return _picked(action, "click", selector="selector")
        case "write":
            return _picked(action, "type", text="text", selector="selector")
        case "press":
            return _picked(action, "press", key="key")
        case "scroll":
            scroll = _picked(action, "scroll", direction="direction", selector="selector", amount="amount")
            return scroll if len(scroll) > 1 else {**scroll, "direction": "down"}
        case "screenshot":
            return _picked(action, "screenshot", fullPage="fullPage")
        case "executeJavascript":
            return _picked(action, "evaluate", script="script")
    return None


def _picked(action: Mapping[str, Any], kind: str, **names: str) -> dict[str, Any]:
    given = {ours: action[theirs] for ours, theirs in names.items() if action.get(theirs) is not None}
    return {"type": kind, **given}
