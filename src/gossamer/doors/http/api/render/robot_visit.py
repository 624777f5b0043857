"""RobotVisit: a request for a page of a registered site, on behalf of a robot, and what becomes of it."""

from functools import partial
from types import TracebackType
from typing import Final, Self

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.flows.render.serve import HotPage
from gossamer.flows.sites.bot_reports import BotReports
from gossamer.flows.sites.site_directory import FoundSite
from gossamer.problems import Problem
from gossamer.state.pages.cached_page import PageHit
from gossamer.state.sites.sites import RegisteredSite
from gossamer.web.sites.bot_visits import BotVisit
from gossamer.web.sites.site_settings import SiteSettings
from gossamer.web.sites.site_words import VisitOutcome

ROBOT: Final = b"x-gossamer-robot"
MAX_ROBOT_CHARS: Final = 500
_OF_PROBLEM: Final = {
    problems.RENDER_EXCLUDED.code: VisitOutcome.EXCLUDED,
    problems.RENDER_FAILED.code: VisitOutcome.FAILED,
}


class RobotVisit:
    """Counts the visit when it ends, whatever it ends with. Without a robot nothing is counted."""

    def __init__(
        self, exchange: Exchange, reports: BotReports, found: FoundSite, robot: str, url: str
    ) -> None:
        assert found.site is not None  # noqa: S101  (there is no visit without a site)
        self._exchange = exchange
        self._reports = reports
        self._site: RegisteredSite = found.site
        self._until = found.until
        self._robot = robot
        self._url = url
        self._outcome = VisitOutcome.SHELL  # until something better is known
        self._status = 0

    @property
    def settings(self) -> SiteSettings:
        return self._site.settings

    def note(self, hit: PageHit) -> None:
        self._status = hit.page.status
        new = VisitOutcome.RENDERED if hit.is_new else VisitOutcome.HIT
        self._outcome = VisitOutcome.STALE if hit.stale else new

    def follow(self, page: HotPage) -> HotPage:
        """The same page with what further requests for it must do: look at the settings again soon, and be
        counted."""
        count = partial(self._count, VisitOutcome.HIT, self._status or 200) if self._robot else None
        return page._replace(until=self._until, on_answer=count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Problem):
            self._outcome = _OF_PROBLEM.get(error.kind.code, VisitOutcome.SHELL)
        if self._robot and (error is None or isinstance(error, Problem)):
            self._count(self._outcome, self._status, self._exchange.elapsed_ms())

    def _count(self, outcome: VisitOutcome, status: int, milliseconds: float) -> None:
        spent = min(600_000, max(0, round(milliseconds)))
        visit = BotVisit(bot=self._robot, outcome=outcome, url=self._url, status=status, milliseconds=spent)
        self._reports.count(self._site, visit)
