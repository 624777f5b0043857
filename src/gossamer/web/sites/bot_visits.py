"""Visits of robots: how they are told, and how they are counted."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Final, Literal, NamedTuple

from msgspec import Meta, Struct

from gossamer.web.robots.bots import BOTS, LINK_PREVIEWS, SEARCH_ENGINES
from gossamer.web.sites.site_words import VisitOutcome

MAX_REPORTED: Final = 1_000  # visits in one report
OTHER_BOT: Final = "other"
KNOWN_BOTS: Final = tuple(robot.token for robot in (*BOTS, *SEARCH_ENGINES, *LINK_PREVIEWS))
# Every other status is counted as the first of its class.
_STATUSES: Final = frozenset({200, 301, 302, 304, 307, 308, 401, 403, 404, 410, 429, 500, 502, 503, 504})
_LONGEST_FIRST: Final = sorted(
    ((token.lower(), token) for token in KNOWN_BOTS), key=lambda pair: -len(pair[0])
)
WITHOUT_PAGE: Final = (VisitOutcome.SHELL, VisitOutcome.FAILED)


class BotVisit(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One visit of a robot, or several that were alike."""

    bot: Annotated[str, Meta(max_length=1_000, description="Its User-Agent, or its token.")]
    outcome: VisitOutcome
    url: Annotated[str, Meta(max_length=2_048, description="The page, or its path. Empty: not told.")] = ""
    status: Annotated[
        int, Meta(ge=0, le=599, description="What the robot was answered with; 0: unknown.")
    ] = 0
    milliseconds: Annotated[int, Meta(ge=0, le=600_000, description="How long that took.")] = 0
    count: Annotated[int, Meta(ge=1, le=1_000_000)] = 1


class BotReport(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What robots asked a site for and got, as its middleware saw it."""

    visits: Annotated[tuple[BotVisit, ...], Meta(max_length=MAX_REPORTED)]


class ReportTaken(Struct, frozen=True, rename="camel"):
    """How many visits were counted."""

    counted: int


class BotRow(NamedTuple):
    """Visits of one robot in one hour that were alike."""

    hour: int  # since the epoch
    bot: str
    outcome: VisitOutcome
    status: int
    visits: int
    milliseconds: int


class AskedPage(Struct, frozen=True, rename="camel"):
    """A page that robots ask for."""

    url: str
    visits: int
    misses: Annotated[int, Meta(description="Visits that got no rendered page.")]
    last_at: str


class BotFigures(Struct, frozen=True, kw_only=True, rename="camel"):
    """Visits by what they got."""

    visits: int
    by_outcome: dict[VisitOutcome, int]
    by_status: dict[int, int]
    average_milliseconds: float | None


class BotLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """One robot."""

    bot: str
    figures: BotFigures


class BotMoment(Struct, frozen=True, kw_only=True, rename="camel"):
    """All robots in one hour or one day."""

    at: str
    visits: int
    by_outcome: dict[VisitOutcome, int]


class BotAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What robots asked for and got."""

    site_id: str
    first: str
    last: str
    by: Literal["hour", "day"]
    total: BotFigures
    bots: Annotated[list[BotLine], Meta(description="The busiest first.")]
    over_time: Annotated[list[BotMoment], Meta(description="Only times with visits.")]
    most_missed: Annotated[list[AskedPage], Meta(description="Pages that robots got no rendering of.")]


@lru_cache(maxsize=4_096)
def bot_token(agent: str) -> str:
    """The token of a robot by its User-Agent: a known one, or `other`. So there are never too many."""
    folded = agent.lower()
    return next((token for lower, token in _LONGEST_FIRST if lower in folded), OTHER_BOT)


def counted_status(status: int) -> int:
    return status if status in _STATUSES else status // 100 * 100


def sum_up(rows: Sequence[BotRow]) -> BotFigures:
    visits = sum(row.visits for row in rows)
    outcomes: dict[VisitOutcome, int] = {}
    statuses: dict[int, int] = {}
    for row in rows:
        outcomes[row.outcome] = outcomes.get(row.outcome, 0) + row.visits
        statuses[row.status] = statuses.get(row.status, 0) + row.visits
    spent = sum(row.milliseconds for row in rows)
    return BotFigures(
        visits=visits,
        by_outcome=outcomes,
        by_status=dict(sorted(statuses.items())),
        average_milliseconds=round(spent / visits, 1) if visits else None,
    )


def by_bot(rows: Sequence[BotRow]) -> list[BotLine]:
    names = {row.bot for row in rows}
    lines = [BotLine(bot=name, figures=sum_up([row for row in rows if row.bot == name])) for name in names]
    return sorted(lines, key=lambda line: (-line.figures.visits, line.bot))
