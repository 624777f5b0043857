"""Sites with traps, and honest sites that look as if they had some. Each answers a target with a page.

A page that somebody would want has a word of its own in it, `useful-…`; `TrapSite.useful` says how many of
these words there are. Copies repeat the word of their page, and what else a trap makes up has none.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import md5
from itertools import count
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

WORDS: Final = tuple(
    f"{a}{b}" for a in ("amb", "bir", "ced", "del", "emb", "fjo") for b in ("er", "ch", "al", "on", "um")
)
CLOCK: Final = "It is {} now."
TEMPLATE: Final = "Welcome to this place of many pages. " + " ".join(WORDS) + " is what all of them say."


@dataclass(frozen=True)
class TrapSite:
    name: str
    answer: Callable[[str], str | None]  # the page at a target; None: there is none
    useful: int
    is_honest: bool = False  # every page of it is wanted


def words(seed: object, number: int = 120) -> str:
    chosen = random.Random(str(seed))
    return " ".join(f"{chosen.choice(WORDS)}{chosen.randrange(60)}" for _ in range(number))


def page(text: str, links: Iterable[str], extra: str = "", title: str = "Trap") -> str:
    anchors = " ".join(f'<a href="{link}">on</a>' for link in links)
    return f"<!doctype html><title>{title}</title><main><p>{text}</p>{extra}</main><nav>{anchors}</nav>"


def token(number: int, salt: str = "") -> str:
    return md5(f"{salt}{number}".encode(), usedforsecurity=False).hexdigest()


def _session(name: str, link: Callable[[int, int], str], number: int = 30, note: str = "") -> TrapSite:
    """So many pages, and every link to one has a session of its own; `link` makes it."""
    serial = count(1)

    def answer(target: str) -> str | None:
        path = urlsplit(target).path.split(";")[0]
        last = path.rstrip("/").rpartition("/")[2]
        if last and not last.startswith("p"):
            return None
        here = int(last[1:]) if last else 0
        links = [link((here * 7 + step) % number, next(serial)) for step in range(1, 6)]
        clock = note.format(next(serial)) if note else ""
        return page(f"useful-{here} {words(here)} {clock}", links)

    return TrapSite(name, answer, number)


def one_page() -> TrapSite:
    """2,047 copies of one page in ten steps, if nobody notices."""
    return _session("one page, session id", lambda _, serial: f"/?sid={token(serial)}", number=1)


def _month(target: str) -> tuple[int, int]:
    query = dict(parse_qsl(urlsplit(target).query))
    return int(query.get("year", 2026)), int(query.get("month", 11))


def calendar() -> TrapSite:
    """Two years with events, and no end in either direction."""

    def answer(target: str) -> str | None:
        if urlsplit(target).path not in ("/", "/calendar"):
            return None
        year, month = _month(target)
        at = year * 12 + month - 1
        links = [f"/calendar?year={other // 12}&month={other % 12 + 1}" for other in (at - 1, at + 1)]
        days = " ".join(f"{day} {month}" for day in range(1, 31))
        events = f"useful-{at} {words(at, 60)}" if 2025 <= year <= 2026 else "No events."
        return page(f"Calendar of {year}-{month:02d} {days} {events}", links)

    return TrapSite("calendar, two years of events", answer, 24)


FACETS: Final = {
    name: [f"{name}{value}" for value in range(6)] for name in ("color", "size", "brand", "use", "fit")
}


def facets(products: int = 200) -> TrapSite:
    """Five filters with six values each, and four orders: 67,228 lists of 200 products."""
    chosen = random.Random(7)
    stock = [{name: chosen.choice(values) for name, values in FACETS.items()} for _ in range(products)]

    def answer(target: str) -> str | None:
        parts = urlsplit(target)
        if parts.path.startswith("/product/"):
            number = int(parts.path.rpartition("/")[2])
            return page(f"useful-{number} {words(number)}", ["/shop"])
        query = dict(parse_qsl(parts.query))
        order = query.pop("sort", "")
        found = [n for n, one in enumerate(stock) if all(one.get(k) == v for k, v in query.items())]
        found.sort(key=lambda n: token(n, order))
        links = [
            f"/shop?{urlencode({**query, n: v})}" for n, vs in FACETS.items() if n not in query for v in vs
        ]
        links += [f"/shop?{urlencode({**query, 'sort': each})}" for each in ("price", "name", "new")]
        shown = found[:12]
        names = " ".join(f"{number} {words(number, 3)}" for number in shown)
        return page(f"Shop {names}", [*links, *(f"/product/{number}" for number in shown)])

    return TrapSite("facets, 200 products", answer, products)


def circles(note: str = "") -> TrapSite:
    """Links that are relative to the wrong folder: every path answers with the page of its last part."""
    names, serial = [f"part{number}" for number in range(12)], count(1)

    def answer(target: str) -> str | None:
        last = urlsplit(target).path.rstrip("/").rpartition("/")[2]
        here = names.index(last) if last in names else 12
        links = [f"{name}/" for name in names[:6]] + [f"/{name}/" for name in names]
        return page(f"useful-{here} {words(here)} {note.format(next(serial)) if note else ''}", links)

    return TrapSite("paths in circles" + (" with a clock" if note else ""), answer, 13)


def endless_pages() -> TrapSite:
    """Twenty pages of a list; after them every number is answered, with nothing."""

    def answer(target: str) -> str | None:
        parts = urlsplit(target)
        if parts.path.startswith("/item/"):
            return page(f"useful-{parts.path} {words(parts.path)}", ["/list"])
        number = int(dict(parse_qsl(parts.query)).get("page", 1))
        items = [f"/item/{number * 5 + step}" for step in range(5)] if number <= 20 else []
        text = " ".join(words(item, 4) for item in items) or "There is nothing on this page of the list."
        return page(f"{TEMPLATE} {text}", [*items, f"/list?page={number + 1}"])

    return TrapSite("pages without end", answer, 100)


def traps() -> list[TrapSite]:
    return [
        one_page(),
        _session("session id", lambda at, serial: f"/p{at}?sid={token(serial)}"),
        _session("session number", lambda at, serial: f"/p{at}?visit={serial}"),
        _session("session id and time", lambda at, serial: f"/p{at}?sid={token(serial)}&t={serial}"),
        _session("session id and a clock", lambda at, serial: f"/p{at}?sid={token(serial)}", note=CLOCK),
        _session("session in the path", lambda at, serial: f"/p{at};jsessionid={token(serial)}"),
        _session("session as a folder", lambda at, serial: f"/s/{token(serial)}/p{at}"),
        calendar(),
        facets(),
        circles(),
        circles(CLOCK),
        endless_pages(),
    ]  # fmt: skip


# Honest sites.


def long_list(number: int = 2_000) -> TrapSite:
    """Each page says nearly the same, and leads to one thing and to the next page."""

    def answer(target: str) -> str | None:
        parts = urlsplit(target)
        if parts.path.startswith("/item/"):
            return page(f"useful-{parts.path} {words(parts.path)}", ["/"])
        at = int(dict(parse_qsl(parts.query)).get("page", 1))
        links = [f"/item/{at}", *([f"/?page={at + 1}"] if at < number else [])]
        return page(f"{TEMPLATE} Thing {at} useful-list-{at}", links)

    return TrapSite(f"a list of {number:,} pages", answer, 2 * number, is_honest=True)


def figures(days: int = 730) -> TrapSite:
    """A page for each day that differs from the others only in its figures."""

    def answer(target: str) -> str | None:
        path = urlsplit(target).path
        at = days - 1 if path == "/" else _day(path)
        links = [f"/day/{_date(at - 1)}"] if at else []
        return page(f"{TEMPLATE} Degrees {at * 37 % 41} and {at * 17 % 29} millimetres useful-{at}", links)

    return TrapSite("two years of figures by day", answer, days, is_honest=True)


def _date(at: int) -> str:
    return f"{2024 + at // 372}-{at % 372 // 31 + 1:02d}-{at % 31 + 1:02d}"


def _day(path: str) -> int:
    year, month, day = path.rpartition("/")[2].split("-")
    return (int(year) - 2024) * 372 + (int(month) - 1) * 31 + int(day) - 1


def gallery(number: int = 400) -> TrapSite:
    """The same words on every page; only the picture differs, and the next one."""

    def answer(target: str) -> str | None:
        at = int(dict(parse_qsl(urlsplit(target).query)).get("picture", 1))
        links = [f"/?picture={at + 1}"] if at < number else []
        return page(TEMPLATE, links, extra=f'<img src="/pictures/useful-{at}.jpg">', title="Gallery")

    return TrapSite("a gallery without words", answer, number, is_honest=True)


def small_shop() -> TrapSite:
    """Three filters that can be combined; two products in three are shown by no other list."""
    kinds = {"color": range(5), "size": range(4), "brand": range(6)}

    def answer(target: str) -> str | None:
        parts = urlsplit(target)
        if parts.path.startswith("/product/"):
            return page(f"useful-{parts.path} {words(parts.path)}", ["/"])
        query = {name: int(value) for name, value in parse_qsl(parts.query)}
        links = [f"/?{urlencode({**query, n: v})}" for n, vs in kinds.items() if n not in query for v in vs]
        mark = "-".join(str(query.get(name, "any")) for name in kinds)
        return page(f"Shop {words(mark, 40)} useful-{mark}", [*links, f"/product/{mark}"])

    return TrapSite("a shop with three filters", answer, 2 * 6 * 5 * 7, is_honest=True)


def articles(number: int = 600) -> TrapSite:
    """Articles that three parameters name, one of them drawn."""

    def answer(target: str) -> str | None:
        query = dict(parse_qsl(urlsplit(target).query))
        at = int(query.get("id", 0))
        links = [
            f"/view?lang=en&id={other}&key={token(other)}" for other in (at + 1, at * 2 + 1) if other < number
        ]
        return page(f"useful-{at} {words(at)}", links)

    return TrapSite("articles by three parameters", answer, number, is_honest=True)


def honest() -> list[TrapSite]:
    return [long_list(), figures(), gallery(), small_shop(), articles()]
