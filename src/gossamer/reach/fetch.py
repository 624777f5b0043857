"""Fetching a page: one GET, its redirects, and further attempts where they may help.

A fetch asks at most so many times in so many seconds and takes at most so many bytes, all named in the `Ask`.
Every hop goes through the dialer anew, so a redirect reaches nothing that the first URL could not. A redirect
from https to http is followed, as browsers do; what the caller sent along goes only where it was meant to go.
"""

import asyncio
import itertools
import math
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal

from gossamer.problems import Problem, validation_error
from gossamer.reach.cookies import Cookies
from gossamer.reach.decode import ACCEPT_ENCODING
from gossamer.reach.failures import failed, is_transient, reason_of
from gossamer.reach.http import REDIRECTS, Answer, Bounds, Terms
from gossamer.reach.pool import Dials, Place, Pool
from gossamer.reach.retry import Backoff, is_transient_status, retry_after
from gossamer.web.page import Hop, Page, describe
from gossamer.web.url import Url

ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

# Ours to say: they frame the message, or promise what only we can keep.
RESERVED: Final = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive"}
    | {"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
# What may go on to another origin. Everything else that a caller sets may be a secret.
HARMLESS: Final = frozenset({"accept", "accept-language", "cache-control", "dnt", "pragma", "user-agent"})

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    url: Url
    method: Literal["GET", "HEAD"] = "GET"
    headers: Headers = ()
    timeout: float = 30.0  # seconds for everything: redirects, further attempts and the pauses between
    max_bytes: int = 10_000_000  # of the body, both as it is sent and decoded
    max_redirects: int = 5  # with none, a redirect is itself the answer
    attempts: int = 3
    head_only: bool = False  # whatever the method, the body is not waited for

    def __post_init__(self) -> None:
        for name, value in self.headers:
            if not NAME.fullmatch(name) or name.lower() in RESERVED:
                raise validation_error(
                    f"The header {name[:100]!r} cannot be set", details={"header": name[:100]}
                )
            if not VALUE.fullmatch(value):
                raise validation_error(
                    f"The header {name!r} has a value that cannot be sent",
                    hint="A value is one line without control characters.",
                    details={"header": name},
                )


class Fetcher:
    def __init__(
        self,
        dialer: Dials,
        user_agent: str,
        *,
        bounds: Bounds | None = None,
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        randomness: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._pool = Pool(dialer, bounds or Bounds())
        self._usual = {
            "user-agent": user_agent,
            "accept": ACCEPT,
            "accept-language": "en,*;q=0.5",
            "accept-encoding": ACCEPT_ENCODING,
        }
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._randomness = randomness
        self._now = now

    async def fetch(self, ask: Ask) -> Page:
        """The page, whatever its status. That there is none, or none that may be taken, is a `Problem`."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        deadline = started + ask.timeout
        for attempt in itertools.count(1):
            visit = Visit(self._pool, ask, self._usual, deadline)
            try:
                await visit.follow()
            except Problem as problem:
                visit.problem = problem
            pause = self._pause(visit, attempt) if attempt < ask.attempts else math.inf
            if loop.time() + pause >= deadline:
                break
            await self._sleep(pause)
        if visit.problem is not None:
            raise visit.problem
        return visit.page(loop.time() - started)

    def _pause(self, visit: "Visit", attempt: int) -> float:
        """Seconds until the next attempt; infinite when there is to be none."""
        if visit.problem is not None:
            transient, wanted = is_transient(visit.problem), 0.0
        else:
            transient = is_transient_status(visit.answer.status)
            wanted = retry_after(visit.answer.header("retry-after"), self._now()) if transient else 0.0
        return self._backoff.pause(attempt, self._randomness, wanted) if transient else math.inf

    async def close(self) -> None:
        await self._pool.close()


class Visit:
    """One attempt: from the URL that was asked for to the answer at the end of its redirects."""

    def __init__(self, pool: Pool, ask: Ask, usual: dict[str, str], deadline: float) -> None:
        self.answer = Answer()
        self.problem: Problem | None = None
        self._pool = pool
        self._ask = ask
        self._usual = usual
        self._deadline = deadline
        self._url = ask.url
        self._headers = ask.headers
        self._cookies = Cookies()
        self._hops: tuple[Hop, ...] = ()

    async def follow(self) -> None:
        try:
            location = await self._hop()
            if location is None or not self._ask.max_redirects:
                return
            seen = {self._position()}
            while location is not None:
                self._move_on(location)
                if self._position() in seen:
                    raise failed("redirect_loop")
                seen.add(self._position())
                location = await self._hop()
        except Problem as problem:
            problem.members.setdefault("details", {}).setdefault("url", self._url.href)
            raise

    def page(self, elapsed: float) -> Page:
        answer = self.answer
        media_type, charset = describe(answer.header("content-type"), answer.body)
        return Page(
            url=self._ask.url.href,
            final_url=self._url.href.partition("#")[0],
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            media_type=media_type,
            charset=charset,
            redirects=self._hops,
            wire_bytes=answer.wire_bytes,
            connect_ms=round(answer.opened * 1000),
            first_byte_ms=round(answer.first_byte * 1000),
            elapsed_ms=round(elapsed * 1000),
        )

    async def _hop(self) -> str | None:
        """Ask at the present URL; where the answer sends us on to, if it does."""
        url, ask = self._url, self._ask
        self.answer = await self._pool.exchange(
            Place(url.scheme == "https", url.host, url.port),
            self._request(),
            Terms(self._deadline, ask.max_bytes, ask.head_only or ask.method == "HEAD"),
        )
        return (self.answer.header("location") or None) if self.answer.status in REDIRECTS else None

    def _move_on(self, location: str) -> None:
        before = self._url
        self._cookies.keep(before, (value for name, value in self.answer.headers if name == "set-cookie"))
        self._hops += (Hop(before.href.partition("#")[0], self.answer.status),)
        if len(self._hops) > self._ask.max_redirects:
            raise failed("too_many_redirects", f"more than {self._ask.max_redirects} times")
        self._url = _joined(before, location)
        if self._url.origin != before.origin:
            self._headers = tuple(pair for pair in self._headers if pair[0].lower() in HARMLESS)

    def _position(self) -> tuple[object, ...]:
        """Where we are. To be here twice is a loop, unless a cookie makes a difference."""
        return self._url.origin, self._url.target, self._cookies.state

    def _request(self) -> bytes:
        url, fields, cookies = self._url, self._usual, self._cookies.header(self._url)
        if self._headers or cookies:
            fields = fields | {name.lower(): value for name, value in self._headers}
            fields["cookie"] = "; ".join(filter(None, (fields.get("cookie"), cookies)))
        lines = "".join([f"{name}: {value}\r\n" for name, value in fields.items() if value])
        first = f"{self._ask.method} {url.target} HTTP/1.1\r\nhost: {url.origin.partition('://')[2]}\r\n"
        return f"{first}{lines}\r\n".encode("latin-1")


def _joined(url: Url, location: str) -> Url:
    raw = location.encode("latin-1")
    try:
        return url.join(raw.decode("utf-8", "replace"))
    except Problem as problem:
        raise failed("bad_redirect", reason_of(problem)) from problem
