"""A tab: a browser context of its own with one page in it, made for one visit and gone with it.

Nothing crosses contexts: no cookie, no cache, no storage, no process. A tab is opened before it is needed and
knows no visit then; `begin` gives it one. What a page may try on its surroundings is answered here: dialogs
are dismissed, what is not needed is refused, and a page that floods us is given up.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from gossamer.reach.cdp import NOTHING, Connection, Gone, Listener, Refused, Session

WORLD: Final = "gossamer"
EVENT_BYTES: Final = 64_000_000  # that the browser may tell us of one visit,
EVENT_COST: Final = 500  # where every event counts as so many, however short
MOST_ANSWERS: Final = 2_000  # of ours under way at once
UNNEEDED: Final = ("Font", "Image", "Media")  # for reading a page
# For reading: as wide as most screens, and taller, so that what shows itself only when it is seen does so.
WINDOW: Final = {"width": 1280, "height": 2400, "deviceScaleFactor": 1, "mobile": False}

# Why a page was given up that needs more of a browser than it is given.
TOO_HEAVY: Final = "The page takes too much memory"
TOO_BUSY: Final = "The page keeps the browser too busy"
CRASHED: Final = "The page crashed"

_FORGETFUL: Final = {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0}
_ATTACH: Final = {
    "autoAttach": True,
    "waitForDebuggerOnStart": False,  # workers would wait too, for ever, though the filter leaves them out
    "flatten": True,
    "filter": [{"type": "iframe"}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a visit wants its tab to behave."""

    user: str  # at the proxy
    password: str
    user_agent: str
    pictures: bool = False
    stays: bool = False  # the page may lead to no other
    headers: tuple[tuple[str, str], ...] = ()
    origin: str = ""  # the only one that gets the headers


class _Paused(msgspec.Struct, rename="camel"):
    request_id: str
    request: "_Request"
    frame_id: str = ""
    resource_type: str = ""


class _Request(msgspec.Struct):
    url: str
    headers: dict[str, str] = {}


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
_attached: Final = msgspec.json.Decoder(_Attached).decode


@cache
def script(name: str) -> str:
    return resources.files("gossamer.reach").joinpath("js", f"{name}.js").read_text()


class Tab:
    def __init__(self, connection: Connection, context: str) -> None:
        self.context = context
        self.frame = ""  # the page's, which is also its target's name
        self.trouble = ""  # why it is of no more use
        self.led_to = ""  # where the page would lead, if it were let
        self._home = ""  # the page, as the browser spells its address
        self._connection = connection
        self._children: set[str] = set()
        self._manner: Manner | None = None
        self._hear: Listener | None = None
        self._heard = 0
        self._answering: set[asyncio.Task[None]] = set()
        self.session = Session(connection, "")

    @classmethod
    async def open(cls, connection: Connection, deadline: float, **context: Any) -> "Tab":
        browser = connection.browser
        made = await browser.ask(
            _Identity, "Target.createBrowserContext", deadline, disposeOnDetach=True, **context
        )
        tab = cls(connection, made.browser_context_id)
        try:
            await tab._furnish(deadline)
        except BaseException:
            await asyncio.shield(tab.close(deadline))
            raise
        return tab

    async def _furnish(self, deadline: float) -> None:
        browser, context = self._connection.browser, self.context
        target, _, _ = await asyncio.gather(
            browser.ask(
                _Identity, "Target.createTarget", deadline, url="about:blank", browserContextId=context
            ),
            browser.tell("Browser.setDownloadBehavior", deadline, behavior="deny", browserContextId=context),
            browser.tell("Browser.grantPermissions", deadline, permissions=[], browserContextId=context),
        )
        self.frame = target.target_id
        attached = await browser.ask(
            _Identity, "Target.attachToTarget", deadline, targetId=target.target_id, flatten=True
        )
        self.session = self._connection.session(attached.session_id, self._on_event)
        tell = self.session.tell
        await asyncio.gather(
            tell("Page.enable", deadline),
            tell("Network.enable", deadline, **_FORGETFUL),
            tell("Network.setBypassServiceWorker", deadline, bypass=True),
            tell("Emulation.setFocusEmulationEnabled", deadline, enabled=True),
            tell("Emulation.setDeviceMetricsOverride", deadline, **WINDOW),
            tell("Target.setAutoAttach", deadline, **_ATTACH),
        )

    def begin(self, manner: Manner, hear: Listener, deadline: float) -> list[Coroutine[Any, Any, None]]:
        """What is to be told before the visit sets out; `hear` is told what the page does."""
        self._manner = manner
        self._hear = hear
        return [
            self.session.tell("Fetch.enable", deadline, **_interception(manner)),
            self.session.tell("Emulation.setUserAgentOverride", deadline, userAgent=manner.user_agent),
        ]

    async def close(self, deadline: float) -> None:
        """Everything the visit had. Raises if the browser cannot do it in time."""
        for task in self._answering:
            task.cancel()
        for name in (self.session.name, *self._children):
            self._connection.forget(name)
        await self._connection.browser.tell(
            "Target.disposeBrowserContext", deadline, browserContextId=self.context
        )

    def give_up(self, why: str) -> None:
        """Nothing more is asked of the page, and whoever waits for it is told."""
        if not self.trouble:
            self.trouble = why
            for name in (self.session.name, *self._children):
                self._connection.forget(name)
            if self._hear is not None:
                self._hear("", NOTHING)

    # What the page makes the browser say.

    def _on_event(self, method: str, params: msgspec.Raw) -> None:
        self._heard += EVENT_COST + len(memoryview(params))
        if self._heard > EVENT_BYTES or len(self._answering) > MOST_ANSWERS:
            self.give_up(TOO_BUSY)
            return
        match method:
            case "Fetch.requestPaused":
                self._on_paused(self.session, params)
            case "Fetch.authRequired":
                self._on_challenge(self.session, params)
            case "Page.javascriptDialogOpening":
                self._answer(self.session, "Page.handleJavaScriptDialog", accept=False)
            case "Target.attachedToTarget":
                self._on_attached(params)
            case "Inspector.targetCrashed":
                self.give_up(CRASHED)
            case "Inspector.detached":
                self.give_up("The page closed itself")
        if self._hear is not None:
            self._hear(method, params)

    def _on_child_event(self, child: Session, method: str, params: msgspec.Raw) -> None:
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
        child = self._connection.session(name, lambda method, told: self._on_child_event(child, method, told))
        self._children.add(name)
        if self._manner is not None:
            self._answer(child, "Fetch.enable", **_interception(self._manner))
        self._answer(child, "Target.setAutoAttach", **_ATTACH)

    def _on_challenge(self, session: Session, params: msgspec.Raw) -> None:
        challenged = _challenged(params)
        answer: dict[str, str] = {"response": "CancelAuth"}  # what a page asks for is its own affair
        if challenged.auth_challenge.source == "Proxy" and self._manner is not None:
            answer = {
                "response": "ProvideCredentials",
                "username": self._manner.user,
                "password": self._manner.password,
            }
        self._answer(
            session,
            "Fetch.continueWithAuth",
            requestId=challenged.request_id,
            authChallengeResponse=answer,
        )

    def _on_paused(self, session: Session, params: msgspec.Raw) -> None:
        paused, manner = _paused(params), self._manner
        request = {"requestId": paused.request_id}
        if manner is None or (not manner.pictures and paused.resource_type in UNNEEDED):
            self._answer(session, "Fetch.failRequest", **request, errorReason="BlockedByClient")
        elif manner.stays and self._leads_on(paused):
            self._answer(session, "Fetch.failRequest", **request, errorReason="Aborted")
        elif manner.headers:
            self._answer(
                session, "Fetch.continueRequest", **request, headers=_headers(paused.request, manner)
            )
        else:
            self._answer(session, "Fetch.continueRequest", **request)

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

    def _answer(self, session: Session, method: str, **params: Any) -> None:
        """Say something that nobody waits for."""

        async def said() -> None:
            with contextlib.suppress(Gone, Refused, TimeoutError):  # the page may have moved on
                await session.tell(method, asyncio.get_running_loop().time() + 30, **params)

        task = asyncio.create_task(said())
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


def _interception(manner: Manner) -> Mapping[str, Any]:
    """Only what is refused or changed costs a round trip, and documents: the proxy's challenge is told to us
    of what matches alone, and the first document is the first to be challenged. The rest knows the answer."""
    kinds = ("Document",) if manner.pictures else ("Document", *UNNEEDED)
    patterns = [{"resourceType": kind} for kind in kinds]
    return {"handleAuthRequests": True, "patterns": [{}] if manner.headers else patterns}


def _headers(request: _Request, manner: Manner) -> list[dict[str, str]]:
    """Those of the request with the caller's, where they are meant to go; without them anywhere else."""
    own = {name.lower() for name, _ in manner.headers}
    kept = [(name, value) for name, value in request.headers.items() if name.lower() not in own]
    at_home = request.url.startswith(manner.origin + "/")
    given = manner.headers if at_home else ()
    return [{"name": name, "value": value} for name, value in [*kept, *given]]
