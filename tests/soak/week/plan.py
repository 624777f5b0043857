"""What is watched and scheduled in the week, and what has to be told of it.

Monitors look every four hours. Pages change at half past, so that nobody looks at the same moment.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from tests.soak.week.known_web import HOUR, KnownPage, Trouble, token_of

BEGAN: Final = datetime(2026, 10, 22, tzinfo=UTC)  # on the fourth day, clocks are set back in Europe
ZONE: Final = "Europe/Zurich"
FAIL_AFTER: Final = 3
CHECK_HOURS: Final = 4
CHECKS: Final = {"cron": f"0 */{CHECK_HOURS} * * *"}
PRICES: Final = (100.0, 99.0, 101.0, 80.0, 81.0, 79.5, 60.0)
PRICE_RULE: Final = {"kind": "number", "after": "Price:", "changesByPercent": 10}
RARE: Final = "zephyrine"


def _daily(first: float, days: int = 7) -> tuple[float, ...]:
    return tuple(first + 24 * day for day in range(days))


def _price(edition: int) -> str:
    return f"Price: ${PRICES[edition]:.2f} for one"


def _shelf(edition: int) -> str:
    return f"This is {'sold out' if edition % 2 else 'in stock'} since delivery {'abcdefgh'[edition]}."


def _rare(edition: int) -> str:
    return f"{token_of(edition)}: {f'the {RARE} lamp is lit' if edition else 'the lamp is dark'}."


def _home(edition: int) -> Sequence[str]:
    return [f"/c/{number}" for number in range(1, 11 if edition else 10)]


NEWS: Final = KnownPage("/news", _daily(5.5))
NOISE: Final = KnownPage("/noise", is_noisy=True)
BOTH: Final = KnownPage("/both", _daily(9.5), is_noisy=True, troubles={(31, 33): Trouble.ERROR})
WALLED: Final = KnownPage(
    "/walled", (15.5, 65.5), troubles={(12.5, 26.5): Trouble.CAPTCHA, (60.5, 74.5): Trouble.AWAY}
)
MOVED: Final = KnownPage("/moved", (40.5, 90.5), troubles={(20.5, 1000): Trouble.MOVED})
PRICE: Final = KnownPage("/price", _daily(3.5, len(PRICES) - 1), says=_price)
SHELF: Final = KnownPage("/shelf", _daily(7.5, 5), says=_shelf)
STATE: Final = KnownPage("/state", troubles={(10.5, 14.5): Trouble.ERROR, (80.5, 86.5): Trouble.AWAY})
GONE: Final = KnownPage("/gone", troubles={(34.5, 1000): Trouble.GONE})
LISTED: Final = tuple(
    KnownPage(f"/list/{number}", _daily(11.5 + 2 * number, 4 - number), is_noisy=number == 2)
    for number in range(4)
)
CRAWLED: Final = (
    KnownPage("/c/home", (45.5,), links=_home),
    KnownPage("/c/1"),
    KnownPage("/c/2", is_noisy=True),
    KnownPage("/c/3", (26.5, 74.5, 122.5)),
    KnownPage("/c/4", troubles={(50.5, 1000): Trouble.GONE}),
    KnownPage("/c/5", (8.5, 98.5), is_noisy=True),
    KnownPage("/c/6", (33.5,), says=_rare),
    *(KnownPage(f"/c/{number}") for number in (7, 8, 9, 10)),
)
DAILY: Final = (KnownPage("/d/home", links=lambda _: ["/d/1", "/d/2"]), KnownPage("/d/1"), KnownPage("/d/2"))
PAGES: Final = (
    NEWS, NOISE, BOTH, WALLED, MOVED, PRICE, SHELF, STATE, GONE, *LISTED, *CRAWLED, *DAILY
)  # fmt: skip


class ToldOf(NamedTuple):
    """A change that has to be told once: of this page, with these words."""

    path: str
    words: str
    is_due: bool = True  # False: at the end it may not have been told yet


@dataclass(frozen=True, slots=True)
class Expectation:
    told: Sequence[ToldOf] = ()  # of each page in this order
    failed: int = 0
    recovered: int = 0


@dataclass(frozen=True, slots=True)
class WeekMonitor:
    name: str
    pages: Sequence[KnownPage]
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "page"

    def expects(self, hours: float) -> Expectation:
        """What is told by the end."""
        looks = [0.1, *range(CHECK_HOURS, int(hours) + 1, CHECK_HOURS)]
        match self.name:
            case "price":
                return Expectation(_told_prices(looks))
            case "shelf":
                return Expectation(_told_shelves(looks))
            case "state":
                return Expectation(_told_states(looks))
            case "search":
                return Expectation([ToldOf("/c/6", "/c/6")] if hours >= 48 else [])
            case "crawl":
                return Expectation(_told_of_crawl(hours))
        each = [_expect_of_page(page, looks) for page in self.pages]
        return Expectation(
            [told for one in each for told in one.told],
            sum(one.failed for one in each),
            sum(one.recovered for one in each),
        )


MONITORS: Final = (
    WeekMonitor("news", [NEWS]),
    WeekMonitor("noise", [NOISE]),
    WeekMonitor("both", [BOTH]),
    WeekMonitor("walled", [WALLED]),
    WeekMonitor("moved", [MOVED]),
    WeekMonitor("price", [PRICE], {"rules": [PRICE_RULE]}),
    WeekMonitor("shelf", [SHELF], {"rules": [{"kind": "keywords", "appear": ["sold out"]}]}),
    WeekMonitor("state", [STATE], {"rules": [{"kind": "status"}]}),
    WeekMonitor("gone", [GONE]),
    WeekMonitor("list", LISTED, kind="list"),
    WeekMonitor("crawl", CRAWLED, kind="crawl"),
    WeekMonitor("search", [], kind="search"),
)


def _expect_of_page(page: KnownPage, looks: Sequence[float]) -> Expectation:
    told, known, failures, failed, recovered = [], page.edition(looks[0]), 0, 0, 0
    for hour in looks[1:]:
        if page.trouble(hour) not in (None, Trouble.MOVED):
            failures += 1
            failed += failures == FAIL_AFTER
            continue
        recovered += failures >= FAIL_AFTER
        failures = 0
        if page.edition(hour) != known:
            known = page.edition(hour)
            told.append(ToldOf(page.path, token_of(known)))
    return Expectation(told, failed, recovered)


def _told_prices(looks: Sequence[float]) -> list[ToldOf]:
    told, last = [], PRICES[0]
    for hour in looks:
        price = PRICES[PRICE.edition(hour)]
        if abs(price - last) >= last * PRICE_RULE["changesByPercent"] / 100:  # type: ignore[operator]
            told.append(ToldOf(PRICE.path, f"{price:g}"))
            last = price
    return told


def _told_shelves(looks: Sequence[float]) -> list[ToldOf]:
    editions = [SHELF.edition(hour) for hour in looks]
    appeared = sum(new != old and new % 2 for old, new in itertools.pairwise(editions))
    return [ToldOf(SHELF.path, "sold out")] * appeared


def _told_states(looks: Sequence[float]) -> list[ToldOf]:
    states = [STATE.trouble(hour) for hour in looks]
    changed = [new for old, new in itertools.pairwise(states) if old is not new]
    return [ToldOf(STATE.path, new.value[:3] if new else "200") for new in changed]


def _told_of_crawl(hours: float) -> list[ToldOf]:
    """A crawl visits its pages every six hours at most, and the monitor looks four hours later at most."""
    due = hours - 12
    told = [
        ToldOf(page.path, token_of(number), appears <= due)
        for page in CRAWLED
        for number, appears in enumerate(page.editions, 1)
        if appears <= hours
    ]
    if CRAWLED[0].edition(hours):
        told.append(ToldOf("/c/10", "page_appeared", bool(CRAWLED[0].edition(due))))
    if CRAWLED[4].trouble(hours):
        late = due - 12  # it is gone when it was not there twice
        told.append(ToldOf("/c/4", "page_disappeared", CRAWLED[4].trouble(late) is not None))
    return told


def count_crawled_changes(hours: float) -> int:
    """What recrawls must have found by the end, at least."""
    return sum(told.is_due and told.words.startswith("Edition") for told in _told_of_crawl(hours))


@dataclass(frozen=True, slots=True)
class WeekSchedule:
    name: str
    timing: Mapping[str, Any]
    task: str  # batch or crawl
    paused: bool = False

    def planned(self, made_at: float, hours: float) -> list[float]:
        """Unix seconds of its runs from when it was made to the end."""
        if self.paused:
            return []
        began, ended = BEGAN.timestamp(), BEGAN.timestamp() + hours * HOUR
        if self.timing.get("every"):
            times = [made_at + 86_400 * day for day in range(1, 9)]
        else:
            _, hour, *_ = self.timing["cron"].split()
            zone = ZoneInfo(self.timing.get("timezone", "UTC"))
            days = [BEGAN.astimezone(zone).date() + timedelta(day) for day in range(-1, 9)]
            local = [datetime(day.year, day.month, day.day, int(hour), tzinfo=zone) for day in days]
            times = [moment.timestamp() for moment in local]
        return [moment for moment in times if began < made_at < moment <= ended]


SCHEDULES: Final = (
    WeekSchedule("by day", {"every": "1d"}, "batch"),
    WeekSchedule("by night", {"cron": "0 2 * * *", "timezone": ZONE}, "crawl"),
    WeekSchedule("by chance", {"cron": "0 12 * * *", "jitter": "20m"}, "batch"),
    WeekSchedule("never", {"cron": "0 13 * * *"}, "batch", paused=True),
)
