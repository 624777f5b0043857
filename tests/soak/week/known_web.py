"""A small web whose changes are known: what each page says at any time, and what it says besides.

A page has editions, which are real changes, and noise, which differs whenever somebody looks. For some hours
it may be in trouble: an error, a captcha, gone, or moved elsewhere.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Final

HOUR: Final = 3600.0
WORDS: Final = ("harbour", "council", "market", "bridge", "garden", "library", "station", "theatre", "river",
                "museum", "tower", "meadow", "forge", "orchard", "quarry", "lantern", "chapel", "ferry",
                "baker", "weaver", "mason", "carter", "fisher", "potter")  # fmt: skip
VERBS: Final = (
    "repairs",
    "opens",
    "visits",
    "paints",
    "measures",
    "closes",
    "crosses",
    "remembers",
    "extends",
)


class Trouble(Enum):
    ERROR = "500 Internal Server Error"
    AWAY = "503 Service Unavailable"
    GONE = "404 Not Found"
    CAPTCHA = "403 Forbidden"
    MOVED = "301 Moved Permanently"  # the same page at another address


@dataclass(frozen=True, slots=True)
class KnownPage:
    path: str
    editions: Sequence[float] = ()  # the hours at which a new edition appears
    is_noisy: bool = False
    troubles: Mapping[tuple[float, float], Trouble] = field(default_factory=dict)  # from hour to hour
    says: Callable[[int], str] = lambda edition: f"{token_of(edition)}: {_sentence(edition)}"
    links: Callable[[int], Sequence[str]] = lambda edition: ()

    def edition(self, hour: float) -> int:
        return sum(appears <= hour for appears in self.editions)

    def trouble(self, hour: float) -> Trouble | None:
        return next((what for (since, until), what in self.troubles.items() if since <= hour < until), None)

    def html(self, now: float, hour: float, look: int) -> str:
        """At this time, for the visitor with this number."""
        edition = self.edition(hour)
        name = self.path.strip("/").replace("/", " ").title() or "Home"
        lasting = "".join(f"<p>{_sentence(hash_of(self.path) + number)}</p>" for number in range(8))
        links = "".join(
            f'<li><a href="{link}">About {link.strip("/")}</a></li>' for link in self.links(edition)
        )
        noise = _noise(now, look) if self.is_noisy else ""
        return (
            f"<!doctype html><html lang=en><head><title>{name}</title></head><body><header>{name}</header>"
            f"<main><h1>{name}</h1><p>{self.says(edition)}</p>{lasting}{noise}"
            f"<ul>{links}</ul></main></body></html>"
        )


def token_of(edition: int) -> str:
    """What only this edition says."""
    return f"Edition {edition} tells"


def hash_of(text: str) -> int:
    """The same in every process."""
    return sum(position * ord(letter) for position, letter in enumerate(text, 7))


def _sentence(number: int) -> str:
    chance = random.Random(number)
    words = [chance.choice(WORDS) for _ in range(9)]
    return (
        f"The {words[0]} {chance.choice(VERBS)} the old {words[1]} of the {words[2]}, while the {words[3]} "
        f"{chance.choice(VERBS)} every {words[4]} between the {words[5]} and the {words[6]} near the "
        f"{words[7]} and {words[8]}."
    )


def _noise(now: float, look: int) -> str:
    chance = random.Random(look)
    day = datetime.fromtimestamp(now, UTC)
    listed = ["Apples", "Bread", "Candles", "Dates", "Eggs"]
    chance.shuffle(listed)
    items = "".join(f"<li>{one} of the season</li>" for one in listed)
    return (
        f"<p>Last updated: {day:%d %B %Y}, {day:%H:%M}</p><p>{1000 + look * 37:,} views</p>"
        f"<p>{chance.randint(2, 59)} minutes ago</p><p>Session ID: {chance.getrandbits(64):016x}</p>"
        f"<ul>{items}</ul><aside class=ad><p>Advertisement</p><p>Buy {chance.choice(WORDS)} "
        f"number {chance.randint(1, 10_000)}!</p></aside><p>© {day.year} The {WORDS[0]}</p>"
    )


_CAPTCHA: Final = (
    "<!doctype html><html><head><title>Just a moment...</title></head><body><h1>Verify you are human</h1>"
    '<form action="/challenge"><div class="g-recaptcha" data-sitekey="x"></div></form></body></html>'
)


@dataclass
class KnownWeb:
    """The server of the pages. `clock` is the time of day, and `began` when the hours are counted from."""

    pages: Sequence[KnownPage]
    clock: Callable[[], float]
    began: float
    url: str = ""
    looks: int = 0

    @property
    def hour(self) -> float:
        return (self.clock() - self.began) / HOUR

    def url_of(self, path: str) -> str:
        return f"{self.url}{path}"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            writer.write(self._answer(head.split(" ", 2)[1]))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, target: str) -> bytes:
        self.looks += 1
        path, _, query = target.partition("?")
        page = next((page for page in self.pages if page.path == path), None)
        trouble = Trouble.GONE if page is None else page.trouble(self.hour)
        if page is not None and (trouble is None or (trouble is Trouble.MOVED and query)):
            return _encode("200 OK", page.html(self.clock(), self.hour, self.looks))
        assert trouble is not None
        if trouble is Trouble.MOVED:
            return _encode(trouble.value, "", f"location: {path}?moved=1")
        body = _CAPTCHA if trouble is Trouble.CAPTCHA else f"<h1>{trouble.value}</h1>"
        return _encode(trouble.value, body)


def _encode(status: str, body: str, *fields: str) -> bytes:
    sent = body.encode()
    head = [f"HTTP/1.1 {status}", *fields, "content-type: text/html; charset=utf-8",
            f"content-length: {len(sent)}", "connection: close"]  # fmt: skip
    return "\r\n".join([*head, "", ""]).encode() + sent
