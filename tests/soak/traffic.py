"""Everything that can be asked for, mixed: requests arrive when it is their time, answered or not."""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from tests.crawl.web import Web
from tests.site.server import Site
from tests.soak.callers import Ask, Callers, Judge
from tests.soak.installation import Server

MOST_UNDER_WAY: Final = 150
KNOWN: Final = 12  # pages that are asked for again and again
BATCH: Final = 6  # pages
LOOK_SECONDS: Final = 0.2
# How often each is asked for in a deck of requests.
DECK: Final = {
    "fetch": 16,
    "fetch, cached": 16,
    "fetch, failing": 4,
    "search": 8,
    "render, cached": 14,
    "render, wait": 2,
    "render": 2,
    "audit": 3,
    "batch": 2,
    "crawl": 1,
    "look-up": 16,
    "key": 14,
    "new key": 2,
    "health": 4,
}


@dataclass(frozen=True, slots=True)
class Place:
    """A page of the synthetic web. It names itself, so that another one in its place is seen."""

    url: str
    title: str
    words: str

    @classmethod
    def of(cls, web: Web, host: int, page: int, tag: str = "") -> "Place":
        body = web.page(host, page).decode()
        title = f"Page {page} of {web.address(host)}"
        words = body.partition("<p>")[2].partition("</p>")[0]
        target = (f"/p/{page}.html" if page else "/") + tag
        return cls(web.url(host, target), title, " ".join(words.split()[:12]))

    def wrong_read(self, read: Any) -> str | None:
        """What is wrong with it, as `/fetch` answers."""
        right = read["outcome"] == "ok" and read["title"] == self.title and self.words in read["content"]
        return None if right and read["url"] == self.url else f"not {self.title}"

    def wrong_fetch(self, answer: httpx.Response) -> str | None:
        return self.wrong_read(answer.json())

    def wrong_search(self, answer: httpx.Response) -> str | None:
        found = [result["url"] for result in answer.json()["results"]]
        return None if self.url in found else f"{self.url} is not found"

    def wrong_render(self, answer: httpx.Response) -> str | None:
        if answer.status_code == 202:
            return None
        right = f"<title>{self.title}</title>" in answer.text and self.words in answer.text
        return None if right else f"not {self.title}"


@dataclass
class Acknowledged:
    """What the servers have promised to do, and what nobody knows of."""

    audits: dict[str, Place] = field(default_factory=dict)  # by audit
    jobs: dict[str, str] = field(default_factory=dict)  # what for, by job
    renders: dict[str, Place] = field(default_factory=dict)  # by address
    batches: dict[str, list[Place]] = field(default_factory=dict)
    crawls: dict[str, int] = field(default_factory=dict)  # the host
    keys: dict[str, str] = field(default_factory=dict)  # the secret, by id
    unknown: list[str] = field(default_factory=list)  # kinds of requests that were given up


class Traffic:
    def __init__(self, callers: Callers, web: Web, site: Site, chance: random.Random) -> None:
        self.callers = callers
        self.acknowledged = Acknowledged()
        self.held_back = 0
        self._web = web
        self._site = site
        self._chance = chance
        self._numbers = itertools.count(1)
        self._hosts = itertools.count()
        self._under_way: set[asyncio.Task[None]] = set()
        self._known = [
            Place.of(web, chance.randrange(web.hosts), chance.randrange(1, web.pages)) for _ in range(KNOWN)
        ]
        self._kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "fetch": self._fetch,
            "fetch, cached": self._fetch_cached,
            "fetch, failing": self._fetch_failing,
            "search": self._search,
            "render, cached": self._render_cached,
            "render, wait": self._render_waiting,
            "render": self._render,
            "audit": self._audit,
            "batch": self._batch,
            "crawl": self._crawl,
            "look-up": self._look_up,
            "key": self._key,
            "new key": self._new_key,
            "health": self._health,
        }

    async def warm_up(self) -> None:
        """Every page that is asked for again is cached and indexed; each server has done everything once."""
        for place in self._known:
            await self._put(Ask("warm-up", "POST", "/fetch", {"url": place.url, "cache": True}))
            await self._put(Ask("warm-up", "POST", "/api/render", {"url": place.url, "wait": 60}))
        for server in self.callers.servers:
            for place in self._known:
                while not await self._is_found(place, server):  # what one server has read, others find later
                    await asyncio.sleep(LOOK_SECONDS)
        for kind in self._kinds.values():
            await kind()

    async def flow(self, rate: float, stop: asyncio.Event) -> None:
        """So many a second until `stop`, in an order that the seed decides; then until all are answered."""
        began = time.monotonic()
        for number, kind in enumerate(self._order()):
            pause = began + number / rate - time.monotonic()
            if stop.is_set():
                break
            await asyncio.sleep(max(0.0, pause))
            self._begin(kind)
        await asyncio.gather(*self._under_way)

    def _order(self) -> "itertools.chain[str]":
        def deck() -> list[str]:
            cards = [kind for kind, times in DECK.items() for _ in range(times)]
            self._chance.shuffle(cards)
            return cards

        return itertools.chain.from_iterable(deck() for _ in itertools.count())

    def _begin(self, kind: str) -> None:
        if len(self._under_way) >= MOST_UNDER_WAY:
            self.held_back += 1
            return
        task = asyncio.ensure_future(self._kinds[kind]())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _put(self, ask: Ask) -> httpx.Response | None:
        answer = await self.callers.insist(ask, f"soak-{next(self._numbers)}")
        if answer is None:
            self.acknowledged.unknown.append(ask.kind)
        return answer

    async def _fetch(self) -> None:
        place = self._fresh()
        await self.callers.ask(Ask("fetch", "POST", "/fetch", {"url": place.url}, judge=place.wrong_fetch))

    async def _fetch_cached(self) -> None:
        place = self._chance.choice(self._known)
        body = {"url": place.url, "cache": True}
        await self.callers.ask(Ask("fetch, cached", "POST", "/fetch", body, judge=place.wrong_fetch))

    async def _fetch_failing(self) -> None:
        """From an origin that hangs up, cuts its answer short, or says that it is away."""
        if self._chance.random() < 0.5:
            body = {"url": self._site.url(f"/status/503?{next(self._numbers)}"), "timeout": 20_000}
            await self.callers.ask(Ask("fetch, failing", "POST", "/fetch", body, judge=_wrong_status))
        else:
            path = self._chance.choice(("/drop", "/reset", "/chunked-cut", "/not-http"))
            body = {"url": self._site.url(f"{path}?{next(self._numbers)}"), "timeout": 20_000}
            await self.callers.ask(
                Ask("fetch, failing", "POST", "/fetch", body, statuses=(502,), judge=_wrong_problem)
            )

    async def _search(self) -> None:
        place = self._chance.choice(self._known)
        await self.callers.ask(_searching("search", place, judge=place.wrong_search))

    async def _is_found(self, place: Place, server: Server) -> bool:
        answer = await self.callers.ask(_searching("warm-up", place), server)
        return answer is not None and place.wrong_search(answer) is None

    async def _render_cached(self) -> None:
        place = self._chance.choice(self._known)
        body = {"url": place.url}
        judge = place.wrong_render
        await self.callers.ask(Ask("render, cached", "POST", "/api/render", body, (200, 202), judge))

    async def _render_waiting(self) -> None:
        await self._rendered("render, wait", 20)

    async def _render(self) -> None:
        await self._rendered("render", 0)

    async def _rendered(self, kind: str, wait: int) -> None:
        place = self._fresh(f"?render={next(self._numbers)}")
        ask = Ask(
            kind, "POST", "/api/render", {"url": place.url, "wait": wait}, (200, 202), place.wrong_render
        )
        answer = await self._put(ask)
        if answer is not None:
            self.acknowledged.renders[place.url] = place
        if answer is not None and answer.status_code == 202:
            self.acknowledged.jobs[answer.json()["jobId"]] = "render"

    async def _audit(self) -> None:
        place = self._fresh(f"?audit={next(self._numbers)}")
        body = {"url": place.url, "options": {"maxLinks": 1}}
        answer = await self._put(Ask("audit", "POST", "/audits", body, (202,)))
        if answer is not None:
            self.acknowledged.audits[answer.json()["auditId"]] = place
            self.acknowledged.jobs[answer.json()["jobId"]] = "audit"

    async def _batch(self) -> None:
        tag = f"?batch={next(self._numbers)}"
        places = list({place.url: place for place in (self._fresh(tag) for _ in range(BATCH))}.values())
        body = {"urls": [place.url for place in places]}
        answer = await self._put(Ask("batch", "POST", "/batch/fetch", body, (202,)))
        if answer is not None:
            self.acknowledged.batches[answer.json()["batchId"]] = places
            self.acknowledged.jobs[answer.json()["jobId"]] = "batch"

    async def _crawl(self) -> None:
        host = next(self._hosts) % self._web.hosts
        body = {"seeds": [self._web.url(host)], "sitemaps": False, "delay": 0}
        answer = await self._put(Ask("crawl", "POST", "/api/crawls", body, (202,)))
        if answer is not None:
            self.acknowledged.crawls[answer.json()["crawlId"]] = host

    async def _look_up(self) -> None:
        """One of what was promised: it is there from then on."""
        promised = self.acknowledged
        known = [
            *((f"/api/jobs/{job}", job) for job in promised.jobs),
            *((f"/audits/{audit}", audit) for audit in promised.audits),
            *((f"/batch/fetch/{batch}", batch) for batch in promised.batches),
            *((f"/api/crawls/{crawl}", crawl) for crawl in promised.crawls),
        ]
        path, name = self._chance.choice(known or [("/api/me", "admin")])
        judge = lambda answer: None if name in answer.text else f"not {name}"  # noqa: E731
        await self.callers.ask(Ask("look-up", "GET", path, judge=judge))

    async def _key(self) -> None:
        """Whom the server takes the owner of a key for."""
        secrets = [*self.acknowledged.keys.items()][-50:]
        if not secrets:
            return
        key, secret = self._chance.choice(secrets)
        judge = lambda answer: None if answer.json()["keyId"] == key else "another one"  # noqa: E731
        headers = {"Authorization": f"Bearer {secret}"}
        await self.callers.ask(Ask("key", "GET", "/api/me", judge=judge, headers=headers))

    async def _new_key(self) -> None:
        body = {"email": f"caller-{next(self._numbers)}@example.com"}
        answer = await self._put(Ask("new key", "POST", "/api/admin/keys", body, (201,)))
        if answer is not None:
            told = answer.json()
            self.acknowledged.keys[told["id"]] = told["key"]

    async def _health(self) -> None:
        """Asked all the while, so that what it says of a fault is remembered as long as it may be."""
        await self.callers.ask(Ask("health", "GET", "/health"))

    def _fresh(self, tag: str = "") -> Place:
        web = self._web
        return Place.of(web, self._chance.randrange(web.hosts), self._chance.randrange(web.pages), tag)


def _searching(kind: str, place: Place, judge: Judge = lambda _answer: None) -> Ask:
    words = " ".join(place.words.split()[:4])
    return Ask(kind, "POST", "/search", {"query": f'"{words}"'}, judge=judge)


def _wrong_status(answer: httpx.Response) -> str | None:
    read = answer.json()
    return None if (read["statusCode"], read["outcome"]) == (503, "error") else "not what the origin said"


def _wrong_problem(answer: httpx.Response) -> str | None:
    return None if answer.json().get("code") == "FETCH_FAILED" else "not FETCH_FAILED"
