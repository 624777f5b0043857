"""BrowserBody: what clients of Browserless and Cloudflare ask of a page, and the same in our API's words.

What would change the answer and cannot be done is refused by name. What only tunes how another browser works
is accepted and ignored, as unknown fields are.
"""

import base64
from typing import Any, Final

from msgspec import Struct, field, json

from gossamer.problems import Problem, validation_error

MIN_TIMEOUT: Final = 5_000  # milliseconds
MAX_TIMEOUT: Final = 30_000
DEFAULT_TIMEOUT: Final = 30_000
_BLOCKED: Final = {"image": "images", "media": "media", "font": "fonts", "stylesheet": "stylesheets"}
_COOKIE_FIELDS: Final = ("name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "expires")


class GotoOptions(Struct, rename="camel"):
    timeout: float = DEFAULT_TIMEOUT  # milliseconds; 0 is no limit
    referer: str = ""


class AwaitedSelector(Struct):
    selector: str
    hidden: bool = False
    timeout: float = 0  # milliseconds; 0 is the time that is left


class RequestedViewport(Struct, rename="camel"):
    width: int = 800
    height: int = 600
    device_scale_factor: float = 1.0
    is_mobile: bool = False


class BasicCredentials(Struct):
    username: str
    password: str


class AddedTag(Struct):
    """A script or a style sheet, by its address or its content."""

    url: str = ""
    content: str = ""


class WantedElement(Struct):
    selector: str
    timeout: int = MIN_TIMEOUT  # milliseconds to wait for it


class BrowserBody(Struct, rename="camel"):
    url: str = ""
    html: str = ""
    goto_options: GotoOptions = field(default_factory=GotoOptions)
    wait_for_selector: AwaitedSelector | str | None = None
    best_attempt: bool = False  # what does not happen in time is no error
    wait_for_timeout: float = 0  # milliseconds
    wait_for_function: Any = None
    wait_for_event: Any = None
    viewport: RequestedViewport | None = None
    cookies: list[dict[str, Any]] = []
    authenticate: BasicCredentials | None = None
    headers: dict[str, str] = field(name="setExtraHTTPHeaders", default_factory=dict)
    javascript: bool = field(name="setJavaScriptEnabled", default=True)
    emulate_media_type: str = ""
    reject_resource_types: list[str] = []
    reject_request_pattern: list[str] = []
    allow_resource_types: list[str] = []
    allow_request_pattern: list[str] = []
    add_script_tag: list[AddedTag] = []
    add_style_tag: list[AddedTag] = []
    selector: str = ""  # of the element to take a picture of
    options: dict[str, Any] = {}  # of a picture or a PDF, as Browserless calls them
    screenshot_options: dict[str, Any] = {}  # as Cloudflare does
    pdf_options: dict[str, Any] = {}
    elements: list[WantedElement] = []
    formats: list[str] = []  # of a snapshot
    visible_links_only: bool = False
    exclude_external_links: bool = False
    prompt: str = ""
    response_format: dict[str, Any] = field(name="response_format", default_factory=dict)

    def check(self) -> None:
        """Raise `Problem` for what cannot be done here."""
        if self.html:
            raise refused("html", "Send the page's `url`: only pages of the web are visited.")
        if not self.url:
            raise validation_error("There is no `url`.", hint="Name the page to visit.")
        if self._awaited is not None and self._awaited.hidden:
            raise refused("waitForSelector.hidden", "Wait for an element that appears.")
        for name, given, hint in (
            ("waitForFunction", self.wait_for_function, "Use waitForSelector or waitForTimeout."),
            ("waitForEvent", self.wait_for_event, "Use waitForSelector or waitForTimeout."),
            ("rejectRequestPattern", self.reject_request_pattern, "Use rejectResourceTypes."),
            ("allowResourceTypes", self.allow_resource_types, "Use rejectResourceTypes."),
            ("allowRequestPattern", self.allow_request_pattern, "Use rejectResourceTypes."),
            ("emulateMediaType", self.emulate_media_type, "Pictures show the screen; PDF is for print."),
            ("visibleLinksOnly", self.visible_links_only, "All links are listed."),
        ):
            if given:
                raise refused(name, hint)

    def visit(self) -> dict[str, Any]:
        """How to visit the page, for every endpoint of ours that does."""
        self.check()
        asked: dict[str, Any] = {
            "url": self.url,
            "timeout": _within_bounds(self.goto_options.timeout),
            "waitForSelector": "" if self._waits_by_step else self._awaited and self._awaited.selector,
            "headers": self._headers(),
            "cookies": [_cookie(cookie) for cookie in self.cookies],
            "block": [_blocked(kind) for kind in self.reject_resource_types],
            "actions": self._actions(),
        }
        if self.viewport is not None and self.viewport.is_mobile:
            asked["device"] = "mobile"
        return {name: value for name, value in asked.items() if value}

    @property
    def _awaited(self) -> AwaitedSelector | None:
        given = self.wait_for_selector
        return AwaitedSelector(given) if isinstance(given, str) else given

    @property
    def _waits_by_step(self) -> bool:
        """A step may have its own time, and may fail without ending the visit."""
        return self._awaited is not None and (self.best_attempt or self._awaited.timeout > 0)

    def _headers(self) -> dict[str, str]:
        headers = dict(self.headers)
        if self.goto_options.referer:
            headers["Referer"] = self.goto_options.referer
        if self.authenticate is not None:
            both = f"{self.authenticate.username}:{self.authenticate.password}"
            headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        return headers

    def _actions(self) -> list[dict[str, Any]]:
        scripts = [_add_script(tag) for tag in self.add_script_tag]
        styles = [_add_style(tag) for tag in self.add_style_tag]
        steps: list[dict[str, Any]] = [{"type": "evaluate", "script": text} for text in (*scripts, *styles)]
        if self._awaited is not None and self._waits_by_step:
            steps.append(
                {
                    "type": "wait",
                    "selector": self._awaited.selector,
                    "timeout": max(1, round(min(self._awaited.timeout or MIN_TIMEOUT, MAX_TIMEOUT))),
                    "optional": self.best_attempt,
                }
            )
        if self.wait_for_timeout:
            pause = max(1, round(self.wait_for_timeout))
            steps.append({"type": "wait", "milliseconds": pause, "timeout": min(pause + 1_000, MAX_TIMEOUT)})
        return steps


def refused(name: str, hint: str) -> Problem:
    return validation_error(f"`{name}` is not supported.", hint=hint)


def _within_bounds(timeout: float) -> int:
    return MAX_TIMEOUT if timeout == 0 else round(min(max(timeout, MIN_TIMEOUT), MAX_TIMEOUT))


def _blocked(kind: str) -> str:
    if kind not in _BLOCKED:
        raise refused(f"rejectResourceTypes: {kind[:50]}", f"These can be rejected: {', '.join(_BLOCKED)}.")
    return _BLOCKED[kind]


def _cookie(given: dict[str, Any]) -> dict[str, Any]:
    known = {name: given[name] for name in _COOKIE_FIELDS if given.get(name) is not None}
    if known.get("expires", 0) < 0:  # Puppeteer's word for a cookie that ends with the session
        del known["expires"]
    return known


def _text(value: str) -> str:
    return json.encode(value).decode()


def _load(tag: str, attribute: str, url: str, more: str = "") -> str:
    return (
        "new Promise((done, fail) => {"
        f"const added = document.createElement({_text(tag)}); {more}"
        "added.onload = () => done(null); added.onerror = () => fail(new Error('it could not be loaded'));"
        f"added.{attribute} = {_text(url)}; document.head.append(added); }})"
    )


def _add_script(tag: AddedTag) -> str:
    return _load("script", "src", tag.url) if tag.url else f"{tag.content}\n;null"


def _add_style(tag: AddedTag) -> str:
    if tag.url:
        return _load("link", "href", tag.url, "added.rel = 'stylesheet';")
    return (
        "{ const sheet = new CSSStyleSheet(); "
        f"sheet.replaceSync({_text(tag.content)}); document.adoptedStyleSheets.push(sheet); }} null"
    )
