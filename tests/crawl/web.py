"""A synthetic web, the same each time: what every host answers, and what a crawl of it has to find.

/, /p/1.html …          ordinary pages, a tree with many more links across it, in many spellings
/copy.html              the words of /p/1.html once more
/moved.html             redirected to /p/1.html
/away.html              redirected to a page of the next host
/missing.html           404
/broken.html            500, always
/busy.html              503 and Retry-After, the first time
/nofollow.html          asks not to follow its links; the one that it has leads to /hidden.html
/calendar?month=1 …     every month links to the next
/private/…              robots.txt forbids it, and every page links to it
/only-in-sitemap.html   no page links to it
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

import msgspec

NETWORK: Final = "127.64.0.0/16"
PER_NETWORK: Final = 250  # hosts that differ in the last number of their address
CHILDREN: Final = 8  # of a page in the tree
BUSY_SECONDS: Final = 1
TRACKED: Final = "?utm_source=here"  # what may follow a URL and means nothing
DEPTH: Final = 10  # of the calendar, for a crawl that goes so deep
BEGINNINGS: Final = ("ba", "ce", "do", "fi", "gu", "ha", "le", "mo", "ni", "pu", "ra", "se")
ENDINGS: Final = ("lan", "mer", "nol", "rith", "sune", "tag", "vel", "wick", "yor", "zim")
WORDS: Final = tuple(beginning + ending for beginning in BEGINNINGS for ending in ENDINGS)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b""
    fields: tuple[str, ...] = ()


class Web(msgspec.Struct, frozen=True, kw_only=True):
    hosts: int
    pages: int  # of the tree of each host
    port: int
    delay: float | None = None  # seconds that robots.txt asks for
    odd: bool = True  # also odd spellings, and the pages that are none of the tree
    words: int = 150  # of a page
    crossing: int = 5  # links of a page to others anywhere in the tree
    latency: float = 0.0  # seconds that every answer takes
    silent_robots: tuple[int, ...] = ()  # hosts that hang up when they are asked for robots.txt
    failing_robots: tuple[int, ...] = ()  # hosts that answer it with 503

    @classmethod
    def parse(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)

    def text(self) -> str:
        return msgspec.json.encode(self).decode()

    def address(self, host: int) -> str:
        return f"127.64.{host // PER_NETWORK}.{host % PER_NETWORK + 1}"

    def number(self, address: str) -> int:
        _, _, network, last = address.split(".")
        return int(network) * PER_NETWORK + int(last) - 1

    def url(self, host: int, target: str = "/") -> str:
        return f"http://{self.address(host)}:{self.port}{target}"

    def homes(self) -> tuple[str, ...]:
        return tuple(self.url(host) for host in range(self.hosts))

    def good(self, host: int, depth: int = DEPTH) -> list[str]:
        """The targets at which a crawl finds a page."""
        tree = [_path(page) for page in range(self.pages)]
        odd = ["/copy.html", "/busy.html", "/nofollow.html", "/only-in-sitemap.html"]
        months = [f"/calendar?month={month}" for month in range(1, depth + 1)]
        return [*tree, *odd, *months] if self.odd else tree

    def all_good(self, depth: int = DEPTH) -> set[str]:
        return {self.url(host, target) for host in range(self.hosts) for target in self.good(host, depth)}

    def forbidden(self, target: str) -> bool:
        """What a polite crawler never asks for."""
        return target.startswith(("/private/", "/hidden.html"))

    def answer(self, host: int, target: str, *, times: int = 1) -> Answer | None:
        """To the question that is asked for so many times now; None: it hangs up without a word."""
        path, _, query = target.partition("?")
        if path == "/robots.txt":
            return self._robots(host)
        if path == "/sitemap.xml":
            return self._sitemap(host)
        page = _page_of(path)
        if page is not None and page < self.pages:
            return _html(self.page(host, page))
        return self._odd(host, path, query, times) if self.odd else Answer(404)

    def page(self, host: int, page: int) -> bytes:
        return _written(self, host, page)

    def _robots(self, host: int) -> Answer | None:
        if host in self.silent_robots:
            return None
        if host in self.failing_robots:
            return Answer(503)
        lines = ["User-agent: *", "Disallow: /private/"]
        if self.delay is not None:
            lines.append(f"Crawl-delay: {self.delay}")
        if self.odd:
            lines.append(f"Sitemap: {self.url(host, '/sitemap.xml')}")
        return Answer(200, "\n".join(lines).encode(), ("Content-Type: text/plain",))

    def _sitemap(self, host: int) -> Answer:
        if not self.odd:
            return Answer(404)
        listed = "".join(
            f"<url><loc>{self.url(host, target)}</loc></url>" for target in ("/", "/only-in-sitemap.html")
        )
        whole = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
        return Answer(200, whole.encode(), ("Content-Type: application/xml",))

    def _odd(self, host: int, path: str, query: str, times: int) -> Answer:
        match path:
            case "/copy.html":
                return _html(self.page(host, 1))
            case "/moved.html":
                return Answer(301, fields=("Location: /p/1.html",))
            case "/away.html":
                return Answer(302, fields=(f"Location: {self.url((host + 1) % self.hosts, '/p/1.html')}",))
            case "/broken.html":
                return Answer(500)
            case "/busy.html" if times == 1:
                return Answer(503, fields=(f"Retry-After: {BUSY_SECONDS}",))
            case "/busy.html" | "/only-in-sitemap.html":
                return _html(_document(f"{path} of {host}", _words(f"{path} {host}"), ["/"]))
            case "/nofollow.html":
                words = _words(f"nofollow {host}")
                head = '<meta name="robots" content="nofollow">'
                return _html(_document(f"Not to be followed, {host}", words, ["/hidden.html"], head))
            case "/calendar":
                month = int(query.removeprefix("month="))
                words = _words(f"month {month} {host}")
                return _html(_document(f"Month {month} of {host}", words, [f"/calendar?month={month + 1}"]))
            case _ if self.forbidden(path):
                return _html(_document("Not for crawlers", "", [f"{path}x"]))
        return Answer(404, b"<title>Not here</title><p>There is no such page.")

    def links(self, host: int, page: int) -> Iterator[str]:
        yield from (_path(child) for child in _children(page) if child < self.pages)
        chance = random.Random(f"links {host} {page}")
        for _ in range(self.crossing):
            path = _path(chance.randrange(self.pages))
            yield _spelt(path, chance) if self.odd else path
        if self.hosts > 1:
            yield self.url((host * 2 + 1) % self.hosts)
            yield self.url((host * 2 + 2) % self.hosts)
            yield self.url(chance.randrange(self.hosts), _path(chance.randrange(self.pages)))
        yield "/private/room"
        if self.odd and page == 0:
            yield from ("/copy.html", "/moved.html", "/away.html", "/missing.html", "/broken.html")
            yield from ("/busy.html", "/nofollow.html", "/calendar?month=1")


@lru_cache(maxsize=20_000)
def _written(web: Web, host: int, page: int) -> bytes:
    title = f"Page {page} of {web.address(host)}"
    return _document(title, _words(f"{host} {page}", web.words), list(web.links(host, page)))


def _path(page: int) -> str:
    return f"/p/{page}.html" if page else "/"


def _page_of(path: str) -> int | None:
    if path == "/":
        return 0
    number = path.removeprefix("/p/").removesuffix(".html")
    return int(number) if number.isdecimal() and path == f"/p/{number}.html" != "/p/0.html" else None


def _children(page: int) -> range:
    return range(page * CHILDREN + 1, page * CHILDREN + CHILDREN + 1)


def _spelt(path: str, chance: random.Random) -> str:
    """One of the ways to write a link to it: all lead to one page."""
    return chance.choice((path, f"{path}#part", f"{path}{TRACKED}", f"/./p/..{path}"))


def _words(seed: str, count: int = 100) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))


def _document(title: str, words: str, links: list[str], head: str = "") -> bytes:
    listed = "\n".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="description" content="{title}: {words[:60]}">\n{head}\n</head>\n<body>\n'
        f"<main>\n<h1>{title}</h1>\n<p>{words}</p>\n</main>\n<nav><ul>\n{listed}\n</ul></nav>\n"
        "</body>\n</html>\n"
    ).encode()


def _html(body: bytes) -> Answer:
    return Answer(200, body, ("Content-Type: text/html; charset=utf-8",))
