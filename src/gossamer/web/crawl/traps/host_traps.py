"""What a crawl knows of the traps of one host."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from gossamer.web.crawl.traps import repeats
from gossamer.web.crawl.traps.budget import COSTS, DATED, FAR_OFF, START, PatternBudget
from gossamer.web.crawl.traps.calendar import DateRange, time_of, without_dates
from gossamer.web.crawl.traps.facets import Facets, PathFacets, is_combined
from gossamer.web.crawl.traps.novelty import Novelty, pictures_of
from gossamer.web.crawl.traps.parameters import (
    LearnedParameter,
    ParameterLearner,
    Sight,
    parts_of,
    without,
)
from gossamer.web.crawl.traps.session_ids import has_session
from gossamer.web.crawl.traps.trap import MANY, MAX_TOLD, TrapCount, TrapKind
from gossamer.web.crawl.traps.url_pattern import UrlPattern, pairs_of, pattern_of
from gossamer.web.url.url import Url

MAX_PATTERNS: Final = 2_000  # that have budgets of their own
MAX_KEPT: Final = 200  # budgets that are stored
MAX_BARREN: Final = 20_000  # URLs of which is remembered that they were found in vain
FREE: Final = 1  # page that resembles others before a URL
MAX_EMPTY: Final = 64  # texts of empty pages of calendars
WORTH_KEEPING: Final = 150  # of a budget that is used up
MAX_EXAMPLE_CHARS: Final = 500
_DRAWN: Final = "{token}"


class TrapState(Struct, frozen=True, kw_only=True):
    """What workers tell each other of a host."""

    edition: int = 0
    parameters: tuple[LearnedParameter, ...] = ()
    levels: dict[str, tuple[int, int, int]] = {}  # level, pages and new pages of the budgets that were used
    facets: dict[str, int] = {}


class SeenPage(NamedTuple):
    """A page that was fetched."""

    url: Url
    pattern: UrlPattern
    content: int
    fingerprint: str
    text: str
    body: bytes
    is_evidence: bool  # it is the page that was asked for, and not something in its place


class SourcePage(NamedTuple):
    """A page that links are found on."""

    url: str
    pattern: UrlPattern


class SiftedLink(NamedTuple):
    """A link, and what it is to the crawl."""

    url: Url
    named: Url  # by which it is identified
    pattern: str
    cut: TrapKind | None = None  # it is not followed
    merged: TrapKind | None = None  # it counts as one page with others
    is_seen: bool = False  # which was fetched

    @property
    def href(self) -> str:
        return self.url.href.partition("#")[0]


class HostTraps:
    def __init__(self, now: int, state: TrapState | None = None) -> None:
        self._now = now
        self._budgets: dict[str, PatternBudget] = {}
        self._facets = Facets()
        self._learner = ParameterLearner()
        self._empty: set[int] = set()
        self._barren: OrderedDict[str, int] = OrderedDict()  # URLs, and how many pages led there in vain
        self._counts: dict[tuple[TrapKind, str], tuple[int, str]] = {}
        self._told: set[tuple[TrapKind, str]] = set()
        self._has_changed = False
        self.edition = 0
        if state is not None:
            self.take_over(state)

    # Pages.

    def weigh(self, page: SeenPage, novelty: Novelty) -> Novelty:
        """What the page adds, given what its text adds; the host is known better afterwards."""
        pattern = page.pattern
        if novelty is Novelty.NEW and self._is_empty(page):
            novelty = Novelty.EXACT
        if page.is_evidence or novelty.adds_nothing:
            self._budget(pattern.text).record(novelty)
            if (family := pattern.family) != pattern.text:
                self._budget(family).record(novelty)
        if page.is_evidence and (pattern.names or _DRAWN in pattern.path):
            self._learn(page, pattern)
        return novelty

    def _learn(self, page: SeenPage, pattern: UrlPattern) -> None:
        has_drawn = _DRAWN in pattern.path
        content = hash((page.content, pictures_of(page.body)))
        sight = Sight(parts_of(page.url, has_drawn=has_drawn), pattern.path, content, page.fingerprint)
        self._has_changed = self._learner.see(sight) or self._has_changed

    def take_retracted(self) -> list[str]:
        """URLs that were not followed because of a parameter that does change the content after all."""
        found, self._learner.retracted = self._learner.retracted, []
        return found

    def _is_empty(self, page: SeenPage) -> bool:
        """Whether it says nothing but its date, which is far off."""
        if time_of(page.url, self._now) is not DateRange.FAR_OFF:
            return False
        key = hash(without_dates(page.text))
        if key in self._empty:
            return True
        if len(self._empty) < MAX_EMPTY:
            self._empty.add(key)
        return False

    # Links.

    def identify(self, url: Url, *, is_link: bool = False) -> SiftedLink:
        """Which page a URL is. A link to one that was fetched need not be followed."""
        return self._identify(url, pattern_of(url), is_link=is_link)

    def _identify(self, url: Url, pattern: UrlPattern, *, is_link: bool) -> SiftedLink:
        if self._learner.learned and (names := self._learner.ignored(pattern.path)):
            named = without(url, names)
            if named is not url:
                parts = parts_of(url, has_drawn=_DRAWN in pattern.path)
                seen = is_link and self._learner.has_seen(names, parts)
                shown = _shown(pattern, names)
                return SiftedLink(url, named, shown, merged=TrapKind.PARAMETER, is_seen=seen)
        if has_session(url):
            return SiftedLink(url, url, pattern.path, merged=TrapKind.SESSION_ID)
        return SiftedLink(url, url, pattern.text)

    def sift(self, urls: Iterable[Url], novelty: Novelty, page: SourcePage | None) -> Iterator[SiftedLink]:
        """Judge the links that were found on a page; None: on a page of another host."""
        found = [(pattern_of(url), url) for url in urls]
        is_fruitful = page is None or self._is_fruitful(found, novelty, page)
        barren = 0 if is_fruitful or page is None else self._barren.get(page.url, 0) + 1
        for pattern, url in found:
            if kind := self._cut(pattern, url, novelty, barren):
                yield SiftedLink(url, url, pattern.family, cut=kind)
            else:
                if barren:
                    self._remember_barren(url, barren)
                yield self._identify(url, pattern, is_link=True)
        if page is not None and is_combined(page.pattern):
            self._facets.earn(page.pattern.path, [pattern.path for pattern, _ in found])

    def _remember_barren(self, url: Url, barren: int) -> None:
        self._barren.setdefault(url.href.partition("#")[0], barren)
        if len(self._barren) > MAX_BARREN:
            self._barren.popitem(last=False)

    def _is_fruitful(
        self, found: Sequence[tuple[UrlPattern, Url]], novelty: Novelty, page: SourcePage
    ) -> bool:
        """A page that resembles others, but leads to pages of another kind, as the pages of a list do."""
        if novelty is not Novelty.NEAR:
            return novelty is Novelty.NEW
        family = page.pattern.family
        return any(
            pattern.family != family and self._budget(pattern.text).is_promising for pattern, _ in found
        )

    def _cut(self, pattern: UrlPattern, url: Url, novelty: Novelty, barren: int) -> TrapKind | None:
        if repeats.is_too_deep(url.path):
            return TrapKind.DEEP_PATH
        if novelty is Novelty.COPY:
            return TrapKind.COPIES
        if repeats.runs_in_circles(url.path, adds_nothing=novelty.adds_nothing):
            return TrapKind.REPEATING_PATH
        if pattern.names and not self._facets.admits(pattern.path, pairs_of(url.query)):
            return TrapKind.FACETS
        if not barren:
            return None
        when = time_of(url, self._now)
        if self._spend(pattern.family, _price(when, novelty, barren)):
            return None
        return TrapKind.DUPLICATES if when is None else TrapKind.CALENDAR

    def _spend(self, pattern: str, cost: int) -> bool:
        if not cost:
            return True
        budget = self._budget(pattern)
        if budget.spend(cost):
            self._has_changed = self._has_changed or budget.level <= START - WORTH_KEEPING
            return True
        return False

    def _budget(self, pattern: str) -> PatternBudget:
        found = self._budgets.get(pattern)
        if found is None:
            if len(self._budgets) >= MAX_PATTERNS:
                pattern = MANY
            found = self._budgets.setdefault(pattern, PatternBudget())
        return found

    # Telling.

    def count(self, link: SiftedLink) -> bool:
        """Count a link that is not followed; returns whether it is followed all the same, to try."""
        kind = link.cut or link.merged
        if kind is None:
            return False
        self._has_changed = True
        self._add(kind, link.pattern, link.url.href[:MAX_EXAMPLE_CHARS])
        if kind is not TrapKind.PARAMETER:
            return False
        names = frozenset(parts_of(link.url, has_drawn=True).values)
        return self._learner.count(names, link.url.href)

    def _add(self, kind: TrapKind, pattern: str, example: str) -> None:
        key = (kind, pattern)
        if key not in self._told:
            if len(self._told) >= MAX_TOLD:
                key = (kind, MANY)
            self._told.add(key)
        cut, first = self._counts.get(key, (0, example))
        self._counts[key] = cut + 1, first

    @property
    def knows_parameters(self) -> bool:
        return bool(self._learner.learned)

    def take_changes(self) -> tuple[TrapState, tuple[TrapCount, ...]] | None:
        """What is to be written, once; None if nothing is."""
        if not self._has_changed:
            return None
        self._has_changed = False
        self.edition += 1
        counts = tuple(TrapCount(*key, *value) for key, value in self._counts.items())
        self._counts = {}
        return self._state(), counts

    def _state(self) -> TrapState:
        used = sorted((each.level, pattern) for pattern, each in self._budgets.items() if each.level < START)
        levels = {
            pattern: (each.level, each.pages, each.new)
            for pattern, each in ((pattern, self._budgets[pattern]) for _, pattern in used[:MAX_KEPT])
        }
        return TrapState(
            edition=self.edition,
            parameters=tuple(self._learner.learned.values()),
            levels=levels,
            facets={path: each.level for path, each in self._facets.paths.items() if each.level < START},
        )

    def take_over(self, state: TrapState) -> None:
        """Go on with what another worker has learned, if that is more."""
        if state.edition <= self.edition:
            return
        self.edition = state.edition
        self._learner.learned = {frozenset(each.names): each for each in state.parameters}
        for pattern, values in state.levels.items():
            self._budgets[pattern] = PatternBudget(*values)
        for path, level in state.facets.items():
            self._facets.paths.setdefault(path, PathFacets()).level = level


def _price(when: DateRange | None, novelty: Novelty, barren: int) -> int:
    if when is DateRange.FAR_OFF:
        return FAR_OFF
    if novelty is not Novelty.NEAR:
        return COSTS[novelty]
    if barren <= FREE:
        return 0
    return DATED if when is DateRange.NEAR else COSTS[novelty]


def _shown(pattern: UrlPattern, names: frozenset[str]) -> str:
    """The pattern with only the parameters that are ignored."""
    query = [name for name in pattern.names if name in names]
    return f"{pattern.path}?{'&'.join(query)}" if query else pattern.path
