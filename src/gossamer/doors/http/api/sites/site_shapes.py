"""Queries, answers and examples of the site endpoints."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from gossamer.doors.http.api.admin.jobs import Cursor
from gossamer.doors.http.core import timestamps
from gossamer.flows.sites.proving import proof_steps
from gossamer.state.sites.sites import RegisteredSite
from gossamer.web.schedules.timing import Timing
from gossamer.web.sites.bot_visits import AskedPage, BotAnswer, BotFigures, BotLine, BotMoment
from gossamer.web.sites.site_answer import ProofCheck, ShownSite
from gossamer.web.sites.site_settings import SiteSettings, SiteWarmUp
from gossamer.web.sites.site_words import ProofFinding, ProofMethod, VisitOutcome

MAX_LISTED: Final = 100
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class SiteQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which sites to list."""

    cursor: Annotated[Cursor | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Sites in a page.")] = 50


class BotQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which visits to show."""

    days: Annotated[int, Meta(ge=1, le=366, description="The last days (UTC), this one included.")] = 7
    by: Annotated[Literal["hour", "day"], Meta(description="The step over time.")] = "day"


def to_api(site: RegisteredSite, schedule_id: str | None) -> ShownSite:
    return ShownSite(
        site_id=site.id,
        origin=site.origin,
        name=site.name,
        state="proven" if site.is_proven else "unproven",
        proof=site.proof,
        proof_steps=proof_steps(site.origin, site.token),
        settings=site.settings,
        proven_at=timestamps.from_ms(site.proven_at),
        checked_at=timestamps.from_ms(site.checked_at),
        warm_up_schedule=schedule_id,
        created_at=timestamps.from_ms(site.created_at),
        updated_at=timestamps.from_ms(site.updated_at),
        status_url=f"/api/sites/{site.id}",
    )


EXAMPLE_SETTINGS: Final = SiteSettings(
    max_age=86_400,
    stale_while_revalidate=604_800,
    excluded_paths=("/cart", "/account/*"),
    warm_up=SiteWarmUp(timing=Timing(cron="0 3 * * *"), pages_per_day=500),
)
EXAMPLE_SITE: Final = ShownSite(
    site_id=_EXAMPLE_ID,
    origin="https://www.example.com",
    name="Shop",
    state="proven",
    proof=ProofMethod.DNS,
    proof_steps=proof_steps("https://www.example.com", "4f9d1c0a7be24d6f8a35c1e2b7d09f64"),
    settings=EXAMPLE_SETTINGS,
    proven_at="2026-01-01T12:05:00.000Z",
    checked_at="2026-01-01T12:05:00.000Z",
    warm_up_schedule="01JGGR2Z3WBBBBBBBBBBBBBBBB",
    created_at="2026-01-01T12:00:00.000Z",
    updated_at="2026-01-01T12:00:00.000Z",
    status_url=f"/api/sites/{_EXAMPLE_ID}",
)
EXAMPLE_CHECKS: Final = [ProofCheck(method=ProofMethod.DNS, finding=ProofFinding.PROVEN)]
_EXAMPLE_FIGURES: Final = BotFigures(
    visits=20,
    by_outcome={VisitOutcome.HIT: 18, VisitOutcome.SHELL: 2},
    by_status={0: 2, 200: 17, 404: 1},
    average_milliseconds=12.5,
)
EXAMPLE_BOTS: Final = BotAnswer(
    site_id=_EXAMPLE_ID,
    first="2025-12-26T00:00:00.000Z",
    last="2026-01-01T12:00:00.000Z",
    by="day",
    total=_EXAMPLE_FIGURES,
    bots=[BotLine(bot="GPTBot", figures=_EXAMPLE_FIGURES)],
    over_time=[BotMoment(at="2026-01-01T00:00:00.000Z", visits=20, by_outcome=_EXAMPLE_FIGURES.by_outcome)],
    most_missed=[AskedPage("https://www.example.com/new", 3, 2, "2026-01-01T11:00:00.000Z")],
)
