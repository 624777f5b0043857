"""Fetches a page: one request, its redirects, and further attempts if they may help.

`FetchSpec` bounds the attempts, the seconds and the bytes of a fetch. Every hop goes through the dialer, so a
redirect reaches nothing that the first URL could not. A redirect from https to http is followed, as browsers
do. Headers of the caller go to the origin of the first URL only.
"""

import asyncio
import itertools
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from msgspec import Struct

from gossamer.observe.traces import span
from gossamer.problems import Problem, forget_frames
from gossamer.reach.http.body_budget import BodyBudget, Reservation
from gossamer.reach.http.client import REDIRECTS, ExchangeTerms, HttpBounds, HttpResponse
from gossamer.reach.http.decode import ACCEPT_ENCODING
from gossamer.reach.http.failures import failed, is_transient, reason_of
from gossamer.reach.http.pool import ConnectionKey, Dials, Pool
from gossamer.reach.http.retry import RetryBackoff, is_transient_status, retry_after
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.web.pages.fetch_spec import FetchSpec, HeaderPairs
from gossamer.web.pages.page import Hop, Page, describe
from gossamer.web.render.visitor import ANYBODY, Visitor
from gossamer.web.url.url import Url

ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
# Headers that may go on to another origin. Any other header of a caller may be a secret.
PORTABLE_HEADERS: Final = frozenset(
    {"accept", "accept-language", "cache-control", "dnt", "pragma", "user-agent"}
)
MAX_COOKIES: Final = 50
MAX_COOKIE_CHARS: Final = 4096
COOKIE_PAIR: Final = re.compile(
    r"\s*+([!#$%&'*+.^_`|~0-9A-Za-z-]++)\s*+=\s*+([\x21-\x3a\x3c-\x7e\x80-\xff ]*+)(?:;|$)"
)
_COOKIE_ENDED: Final = re.compile(r";\s*max-age\s*=\s*(?:0|-\d+)\s*(?:;|$)", re.IGNORECASE)
_COOKIE_SECURE: Final = re.compile(r";\s*secure\s*(?:;|$)", re.IGNORECASE)


_REASONS: Final = {reason.value: reason.value for reason in FetchReason}


class Fetcher:
    def __init__(
        self,
        dialer: Dials,
        user_agent: str,
        *,
        bounds: HttpBounds | None = None,
        bodies: BodyBudget | None = None,
        backoff: RetryBackoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        randomness: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
        count: Callable[[str], None] = lambda _outcome: None,
        lane: Callable[[str], str] = lambda _tenant: "",
    ) -> None:
        self._count = count  # hears how each fetch ended
        self._pool = Pool(dialer, bounds or HttpBounds())
        self._lane = lane
        self._bodies = bodies or BodyBudget()
        self._default_headers = {
            "user-agent": user_agent,
            "accept": ACCEPT,
            "accept-language": "en,*;q=0.5",
            "accept-encoding": ACCEPT_ENCODING,
        }
        self._backoff = backoff or RetryBackoff()
        self._sleep = sleep
        self._randomness = randomness
        self._now = now

    @property
    def default_headers(self) -> HeaderPairs:
        """What every request says, unless its caller says otherwise."""
        return tuple(self._default_headers.items())

    async def fetch(self, spec: FetchSpec) -> Page:
        """Fetch a page; any status counts. Raises `Problem` if there is no answer or it is not allowed."""
        reservation = self._bodies.reserve()
        try:
            page = await self._fetch(spec, reservation)
        except BaseException as error:
            reservation.release()
            if isinstance(error, Problem):
                self._count(_REASONS.get(reason_of(error), "other"))
            raise
        self._count(f"{page.status // 100}xx")
        reservation.hand_to(page)
        return page

    async def _fetch(self, spec: FetchSpec, reservation: Reservation) -> Page:
        loop = asyncio.get_running_loop()
        started = loop.time()
        deadline = started + spec.timeout
        for number in itertools.count(1):
            lane = self._lane(spec.tenant)
            attempt = FetchAttempt(self._pool, spec, self._default_headers, deadline, reservation, lane)
            try:
                await attempt.follow()
            except Problem as problem:
                attempt.problem = problem
            pause = self._pause(attempt, number) if number < spec.attempts else math.inf
            if loop.time() + pause >= deadline:
                break
            if attempt.problem is not None:
                forget_frames(attempt.problem)
            await self._sleep(pause)
        if attempt.problem is not None:
            raise attempt.problem
        return attempt.page(loop.time() - started)

    def _pause(self, attempt: "FetchAttempt", number: int) -> float:
        """Seconds until the next attempt; infinite if there is to be none."""
        if attempt.problem is not None:
            transient, wanted = is_transient(attempt.problem), 0.0
        else:
            transient = is_transient_status(attempt.answer.status)
            wanted = retry_after(attempt.answer.header("retry-after"), self._now()) if transient else 0.0
        return self._backoff.pause(number, self._randomness, wanted) if transient else math.inf

    async def close(self) -> None:
        await self._pool.close()


class FetchAttempt:
    """One attempt: from the URL that was asked for to the answer at the end of its redirects."""

    def __init__(
        self,
        pool: Pool,
        spec: FetchSpec,
        default_headers: dict[str, str],
        deadline: float,
        reservation: Reservation,
        lane: str = "",
    ) -> None:
        self._lane = lane
        self.answer = HttpResponse()
        self.problem: Problem | None = None
        self._pool = pool
        self._spec = spec
        self._default_headers = _introduce(spec.visitor, default_headers)
        self._deadline = deadline
        self._reservation = reservation
        self._url = spec.url
        self._headers = spec.headers
        self._cookies = Cookies()
        self._hops: tuple[Hop, ...] = ()
        self._set_cookies: tuple[tuple[str, str], ...] = ()

    async def follow(self) -> None:
        try:
            location = await self._hop()
            if location is None or not self._spec.max_redirects:
                return
            seen = {self._position()}
            while location is not None:
                self._move_on(location)
                if self._position() in seen:
                    raise failed(FetchReason.REDIRECT_LOOP)
                seen.add(self._position())
                location = await self._hop()
        except Problem as problem:
            if "url" not in problem.details:
                problem.add_details(url=self._url.href)
            raise

    def page(self, elapsed: float) -> Page:
        answer = self.answer
        media_type, charset = describe(answer.header("content-type"), answer.body)
        return Page(
            url=self._spec.url.href,
            final_url=self._url.href.partition("#")[0],
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            media_type=media_type,
            charset=charset,
            redirects=self._hops,
            set_cookies=self._set_cookies,
            wire_bytes=answer.wire_bytes,
            connect_ms=round(answer.opened * 1000),
            first_byte_ms=round(answer.first_byte * 1000),
            elapsed_ms=round(elapsed * 1000),
        )

    async def _hop(self) -> str | None:
        """Request the current URL. Returns the location that the answer redirects to, if it does."""
        url, spec = self._url, self._spec
        self._reservation.release()  # of the answer before, which is not needed any more
        with span("fetch hop"):
            self.answer = await self._pool.exchange(
                ConnectionKey(url.scheme == "https", url.host, url.port, self._lane),
                self._request(),
                ExchangeTerms(
                    self._deadline,
                    spec.max_bytes,
                    spec.head_only or spec.method == "HEAD",
                    reservation=self._reservation,
                ),
            )
        return (self.answer.header("location") or None) if self.answer.status in REDIRECTS else None

    def _move_on(self, location: str) -> None:
        before = self._url
        fields = [value for name, value in self.answer.headers if name == "set-cookie"]
        self._cookies.keep(before, fields)
        self._set_cookies += tuple((before.href, field) for field in fields)
        self._hops += (Hop(before.href.partition("#")[0], self.answer.status),)
        if len(self._hops) > self._spec.max_redirects:
            raise failed(FetchReason.TOO_MANY_REDIRECTS, f"more than {self._spec.max_redirects} times")
        self._url = _join(before, location)
        if self._url.origin != before.origin:
            self._headers = tuple(pair for pair in self._headers if pair[0].lower() in PORTABLE_HEADERS)

    def _position(self) -> tuple[object, ...]:
        """The state of the fetch. The same state twice is a loop; a new cookie makes a new state."""
        return self._url.origin, self._url.target, self._cookies.state

    def _request(self) -> bytes:
        url, fields, cookies = self._url, self._default_headers, self._cookies.header(self._url)
        if self._headers or cookies:
            fields = fields | {name.lower(): value for name, value in self._headers}
            fields["cookie"] = "; ".join(filter(None, (fields.get("cookie"), cookies)))
        lines = "".join([f"{name}: {value}\r\n" for name, value in fields.items() if value])
        first = f"{self._spec.method} {url.target} HTTP/1.1\r\nhost: {url.origin.partition('://')[2]}\r\n"
        return f"{first}{lines}\r\n".encode("latin-1")


def _introduce(visitor: Visitor, headers: dict[str, str]) -> dict[str, str]:
    if visitor == ANYBODY:
        return headers
    return headers | {"user-agent": visitor.user_agent(headers["user-agent"])} | visitor.headers


def _join(url: Url, location: str) -> Url:
    raw = location.encode("latin-1")
    try:
        return url.join(raw.decode("utf-8", "replace"))
    except Problem as problem:
        raise failed(FetchReason.BAD_REDIRECT, reason_of(problem)) from problem


class Cookie(Struct, frozen=True):
    host: str
    name: str
    value: str
    secure: bool


class Cookies:
    """The cookies of one fetch: many sites set one and redirect to see whether it comes back.

    A cookie goes back only to the host that set it, whatever its `Domain` says, and a secure one only over
    https.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Cookie] = {}

    @property
    def state(self) -> frozenset[Cookie]:
        return frozenset(self._kept.values())

    def keep(self, url: Url, fields: Iterable[str]) -> None:
        """Keep the cookies in the `Set-Cookie` fields of an answer from `url`."""
        for field in fields:
            pair = COOKIE_PAIR.match(field) if len(field) <= MAX_COOKIE_CHARS else None
            if pair is None:
                continue
            self._kept.pop((url.host, pair[1]), None)
            if not _COOKIE_ENDED.search(field) and len(self._kept) < MAX_COOKIES:
                secure = _COOKIE_SECURE.search(field) is not None
                self._kept[url.host, pair[1]] = Cookie(url.host, pair[1], pair[2].strip(), secure)

    def header(self, url: Url) -> str:
        """The value of `Cookie` for a request to `url`; empty for none."""
        return "; ".join(
            f"{cookie.name}={cookie.value}"
            for cookie in self._kept.values()
            if cookie.host == url.host and (url.scheme == "https" or not cookie.secure)
        )
