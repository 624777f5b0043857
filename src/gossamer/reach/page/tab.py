"""A tab: a separate browser context with one page in it, created for one visit and closed after it.

Contexts share nothing: no cookies, no cache, no storage, no process. A tab is opened before it is needed, and
`begin` gives it a visit. It dismisses dialogs, refuses requests that are not needed, and gives up a page that
floods us with events. A tab whose page is only read draws nothing (`frames`).
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from gossamer.reach.browser.cdp import NOTHING, CdpConnection, CdpGone, CdpRefused, CdpSession, Listener
from gossamer.reach.page import frames
from gossamer.reach.page.visit import PageTrouble, Visit
from gossamer.reach.page.window import MAX_HEIGHT, READING, window_of
from gossamer.reach.proxy.credentials import VisitCredentials
from gossamer.web.render.ad_hosts import is_ad_host

WORLD: Final = "gossamer"
MAX_EVENT_BYTES: Final = 64_000_000  # of all events of one visit
EVENT_COST: Final = 500  # bytes that every event counts in addition to its size
MAX_PENDING_COMMANDS: Final = 2_000  # of our own at once
_FORGETFUL: Final = {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0}
_ATTACH: Final = {
    "autoAttach": True,
    "waitForDebuggerOnStart": False,  # workers would wait endlessly too, although the filter excludes them
    "flatten": True,
    "filter": [{"type": "iframe"}],
}


class _Paused(msgspec.Struct, rename="camel"):
    request_id: str
    request: "_Request"
    frame_id: str = ""
    resource_type: str = ""


class _Request(msgspec.Struct):
    url: str
    headers: dict[str, str] = {}


class _Dialog(msgspec.Struct):
    type: str = ""


class _Challenge(msgspec.Struct):
    source: str = "Server"


class _Challenged(msgspec.Struct, rename="camel"):
    request_id: str
    auth_challenge: _Challenge


class _Attached(msgspec.Struct, rename="camel"):
    session_id: str


class _Identity(msgspec.Struct, rename="camel"):
    browser_context_id: str = ""
    target_id: str = ""
    session_id: str = ""


_paused: Final = msgspec.json.Decoder(_Paused).decode
_challenged: Final = msgspec.json.Decoder(_Challenged).decode
_dialog: Final = msgspec.json.Decoder(_Dialog).decode
_attached: Final = msgspec.json.Decoder(_Attached).decode


@cache
def script(name: str) -> str:
    return resources.files("gossamer.reach.page").joinpath("js", f"{name}.js").read_text()


class Tab:
    def __init__(self, connection: CdpConnection, context: str, *, drawn: bool) -> None:
        self.context = context
        self.drawn = drawn  # otherwise it shows nothing, and no picture can be taken of it
        self.frame = ""  # the id of the main frame, which is also that of its target
        self.trouble: PageTrouble | None = None  # why it was given up
        self.led_to = ""  # where the page wanted to send its visitor
        self._home = ""  # the URL of the page as the browser spells it
        self._connection = connection
        self._children: set[str] = set()
        self._window = READING
        self._visit: Visit | None = None
        self._credentials: VisitCredentials | None = None
        self._hear: Listener | None = None
        self._heard = 0
        self._answering: set[asyncio.Task[None]] = set()
        self._frames: asyncio.Task[None] | None = None
        self.session = CdpSession(connection, "")

    @classmethod
    async def open(
        cls, connection: CdpConnection, deadline: float, *, drawn: bool = True, **context: Any
    ) -> "Tab":
        """Raises `CdpRefused` if the browser does not have such tabs."""
        browser = connection.browser
        made = await browser.ask(
            _Identity, "Target.createBrowserContext", deadline, disposeOnDetach=True, **context
        )
        tab = cls(connection, made.browser_context_id, drawn=drawn)
        try:
            await tab._prepare(deadline)
        except BaseException:
            await asyncio.shield(tab.close(deadline))
            raise
        return tab

    async def _prepare(self, deadline: float) -> None:
        browser, context = self._connection.browser, self.context
        target = {"url": "about:blank", "browserContextId": context, **({} if self.drawn else frames.WAITING)}
        made, _, _ = await asyncio.gather(
            browser.ask(_Identity, "Target.createTarget", deadline, **target),
            browser.tell("Browser.setDownloadBehavior", deadline, behavior="deny", browserContextId=context),
            browser.tell("Browser.grantPermissions", deadline, permissions=[], browserContextId=context),
        )
        self.frame = made.target_id
        attached = await browser.ask(
            _Identity, "Target.attachToTarget", deadline, targetId=made.target_id, flatten=True
        )
        self.session = self._connection.session(attached.session_id, self._on_event)
        tell = self.session.tell
        await asyncio.gather(
            tell("Page.enable", deadline),
            tell("Network.enable", deadline, **_FORGETFUL),
            tell("Network.setBypassServiceWorker", deadline, bypass=True),
            tell("Emulation.setFocusEmulationEnabled", deadline, enabled=True),
            tell("Emulation.setDeviceMetricsOverride", deadline, **self._window.metrics),
            tell("Target.setAutoAttach", deadline, **_ATTACH),
        )
        if not self.drawn:
            await frames.run_frame(self.session, deadline)

    def begin(
        self, visit: Visit, credentials: VisitCredentials, hear: Listener, deadline: float
    ) -> list[Coroutine[Any, Any, None]]:
        """The commands to run before the visit navigates; `hear` gets the events of the page."""
        self._visit, self._credentials = visit, credentials
        self._hear = hear
        if not self.drawn:
            self._frames = asyncio.create_task(frames.run_frames(self.session, deadline))
        tell = self.session.tell
        commands = [
            tell("Fetch.enable", deadline, **_interception(visit)),
            tell("Emulation.setUserAgentOverride", deadline, **_identity(visit)),
        ]
        window = window_of(visit)
        if window != self._window:
            self._window = window
            commands.append(tell("Emulation.setDeviceMetricsOverride", deadline, **window.metrics))
        if window.mobile:
            commands.append(tell("Emulation.setTouchEmulationEnabled", deadline, enabled=True))
        if visit.visitor.locale:
            locale = visit.visitor.locale.replace("-", "_")
            commands.append(tell("Emulation.setLocaleOverride", deadline, locale=locale))
        if visit.actions:  # a click may ask for a file: nobody is there to choose one
            commands.append(tell("Page.setInterceptFileChooserDialog", deadline, enabled=True))
        return commands

    async def grow_window(self, height: int, deadline: float) -> None:
        """Make the window tall enough to show parts that load when they are seen."""
        self._window = replace(self._window, height=min(height, MAX_HEIGHT))
        await self.session.tell("Emulation.setDeviceMetricsOverride", deadline, **self._window.metrics)

    async def close(self, deadline: float) -> None:
        """Close everything that the visit had open. Raises if the browser cannot do it in time."""
        for task in self._answering:
            task.cancel()
        if self._frames is not None:
            self._frames.cancel()
        for name in (self.session.name, *self._children):
            self._connection.forget(name)
        await self._connection.browser.tell(
            "Target.disposeBrowserContext", deadline, browserContextId=self.context
        )

    def give_up(self, trouble: PageTrouble) -> None:
        """Ask nothing more of the page, and wake the visit that waits for it."""
        if self.trouble is None:
            self.trouble = trouble
            for name in (self.session.name, *self._children):
                self._connection.forget(name)
            if self._hear is not None:
                self._hear("", NOTHING)

    # Events of the page.

    def _on_event(self, method: str, params: msgspec.Raw) -> None:
        self._heard += EVENT_COST + len(memoryview(params))
        if self._heard > MAX_EVENT_BYTES or len(self._answering) > MAX_PENDING_COMMANDS:
            self.give_up(PageTrouble.TOO_BUSY)
            return
        match method:
            case "Fetch.requestPaused":
                self._on_paused(self.session, params)
            case "Fetch.authRequired":
                self._on_challenge(self.session, params)
            case "Page.javascriptDialogOpening":
                leaves = _dialog(params).type == "beforeunload"  # a page cannot keep its visitor
                self._answer(self.session, "Page.handleJavaScriptDialog", accept=leaves)
            case "Target.attachedToTarget":
                self._on_attached(params)
            case "Inspector.targetCrashed":
                self.give_up(PageTrouble.CRASHED)
            case "Inspector.detached":
                self.give_up(PageTrouble.CLOSED)
        if self._hear is not None:
            self._hear(method, params)

    def _on_child_event(self, child: CdpSession, method: str, params: msgspec.Raw) -> None:
        self._heard += EVENT_COST + len(memoryview(params))
        match method:
            case "Fetch.requestPaused":
                self._on_paused(child, params)
            case "Fetch.authRequired":
                self._on_challenge(child, params)
            case "Target.attachedToTarget":
                self._on_attached(params)

    def _on_attached(self, params: msgspec.Raw) -> None:
        name = _attached(params).session_id
        child = self._connection.session(
            name, lambda method, event: self._on_child_event(child, method, event)
        )
        self._children.add(name)
        if self._visit is not None:
            self._answer(child, "Fetch.enable", **_interception(self._visit))
        self._answer(child, "Target.setAutoAttach", **_ATTACH)

    def _on_challenge(self, session: CdpSession, params: msgspec.Raw) -> None:
        challenged = _challenged(params)
        answer: dict[str, str] = {"response": "CancelAuth"}  # pages that ask for a password get none
        if challenged.auth_challenge.source == "Proxy" and self._credentials is not None:
            answer = {
                "response": "ProvideCredentials",
                "username": self._credentials.user,
                "password": self._credentials.password,
            }
        self._answer(
            session,
            "Fetch.continueWithAuth",
            requestId=challenged.request_id,
            authChallengeResponse=answer,
        )

    def _on_paused(self, session: CdpSession, params: msgspec.Raw) -> None:
        paused, visit = _paused(params), self._visit
        request = {"requestId": paused.request_id}
        if visit is None or self._is_unwanted(paused, visit):
            self._answer(session, "Fetch.failRequest", **request, errorReason="BlockedByClient")
        elif not visit.follow and self._leads_on(paused):
            self._answer(session, "Fetch.failRequest", **request, errorReason="Aborted")
        elif visit.headers:
            self._answer(session, "Fetch.continueRequest", **request, headers=_headers(paused.request, visit))
        else:
            self._answer(session, "Fetch.continueRequest", **request)

    def _is_unwanted(self, paused: _Paused, visit: Visit) -> bool:
        if paused.resource_type in visit.unloaded:
            return True
        if "ads" not in visit.block or (paused.resource_type == "Document" and paused.frame_id == self.frame):
            return False
        return is_ad_host(urlsplit(paused.request.url).hostname or "")

    def _leads_on(self, paused: _Paused) -> bool:
        """Whether the page sends its visitor to another one, by a redirect or a script."""
        if paused.frame_id != self.frame or paused.resource_type != "Document":
            return False
        self._home = self._home or paused.request.url
        if paused.request.url == self._home:
            return False
        self.led_to = self.led_to or paused.request.url
        if self._hear is not None:
            self._hear("", NOTHING)
        return True

    def _answer(self, session: CdpSession, method: str, **params: Any) -> None:
        """Send a command without waiting for its answer."""

        async def send() -> None:
            with contextlib.suppress(CdpGone, CdpRefused, TimeoutError):  # the page may have moved on
                await session.tell(method, asyncio.get_running_loop().time() + 30, **params)

        task = asyncio.create_task(send())
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


def _interception(visit: Visit) -> Mapping[str, Any]:
    """Intercept only requests that are refused or changed, since each costs a round trip; and documents,
    because the proxy's challenge is reported only for what matches. Later requests know the credentials."""
    patterns = [{"resourceType": kind} for kind in ("Document", *sorted(visit.unloaded))]
    everything = visit.headers or "ads" in visit.block
    return {"handleAuthRequests": True, "patterns": [{}] if everything else patterns}


def _identity(visit: Visit) -> Mapping[str, Any]:
    """Who the page is told that it has before it. Its hints name our product, as its User-Agent does."""
    visitor, agent = visit.visitor, visit.user_agent or ""
    identity: dict[str, Any] = {"userAgent": visitor.user_agent(agent)}
    if visitor.languages:
        identity["acceptLanguage"] = visitor.languages
    if visitor.is_mobile:
        product, _, version = agent.partition(" ")[0].partition("/")
        identity["userAgentMetadata"] = {
            "brands": [{"brand": product, "version": version.partition(".")[0]}],
            "platform": "",
            "platformVersion": "",
            "architecture": "",
            "model": "",
            "mobile": True,
        }
    return identity


def _headers(request: _Request, visit: Visit) -> list[dict[str, str]]:
    """The headers of the request; for the origin of the visit, with those of the caller."""
    own = {name.lower() for name, _ in visit.headers}
    kept = [(name, value) for name, value in request.headers.items() if name.lower() not in own]
    at_home = request.url.startswith(visit.url.origin + "/")
    given = visit.headers if at_home else ()
    return [{"name": name, "value": value} for name, value in [*kept, *given]]
