"""What robots see of a site, over HTTP: compare its pages with the rendered ones, and show what was found."""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.sites.site_comparer import SiteComparer
from gossamer.flows.sites.site_keeper import SiteKeeper
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role
from gossamer.web.sites.page_facts import PageSight, RobotFacts, SeenVerdict
from gossamer.web.sites.site_answer import RecacheAccepted
from gossamer.web.sites.site_comparison import (
    ComparedPage,
    ComparedTemplate,
    ComparisonAnswer,
    ComparisonLine,
    ComparisonRequest,
    SiteComparison,
)
from gossamer.web.sites.site_words import VisitOutcome

_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"
_JOB: Final = "01JGGR2Z3WAAAAAAAAAAAAAAAA"


class ComparisonQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which comparison to show."""

    comparison: Annotated[
        Annotated[str, Meta(max_length=26)] | None, Meta(description="Its id. By default, the newest.")
    ] = None


class SiteComparisonEndpoints(Struct, frozen=True):
    keeper: SiteKeeper
    comparer: SiteComparer

    async def compare_site(self, exchange: Exchange, id: str, body: ComparisonRequest) -> Response:
        site = await self.keeper.get(exchange.caller, id, proven=True)
        job = await self.comparer.queue(exchange.caller, site, body, exchange.actor)
        where = f"/api/jobs/{job.job_id}"
        return answer(RecacheAccepted(job.job_id, where), 202, {"Location": where})

    async def show_comparison(self, exchange: Exchange, id: str, query: ComparisonQuery) -> ComparisonAnswer:
        site = await self.keeper.get(exchange.caller, id)
        kept = await self.comparer.list_kept(site)
        wanted = query.comparison or (kept[0].id if kept else None)
        shown = next((one for one in kept if one.id == wanted), None)
        if query.comparison and shown is None:
            raise Problem(problems.NOT_FOUND, "There is no comparison with this id.")
        return ComparisonAnswer(
            site_id=site.id,
            comparison_id=None if shown is None else shown.id,
            made_at=None if shown is None else timestamps.from_ms(shown.made_at),
            comparison=None if shown is None else shown.result,
            history=[
                ComparisonLine(
                    comparison_id=one.id,
                    made_at=timestamps.from_ms(one.made_at),
                    templates=one.result.count(),
                )
                for one in kept
            ],
        )

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {
            "needs": Role.USER,
            "tag": "Sites",
            "path": "/api/sites/{id}/comparison",
            "parameters": {"id": "The site's id."},
        }
        return [
            Route(
                method="POST",
                handler=self.compare_site,
                summary="Compare pages of a site with what robots see",
                description="A job takes a few pages of each template of the site, as its addresses tell "
                "them apart, and compares what its server sends with what scripts make of it. Each page "
                "counts as a render.",
                status=202,
                answers=RecacheAccepted,
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY, problems.QUOTA_EXCEEDED),
                example_body=ComparisonRequest(pages=2),
                example=RecacheAccepted(_JOB, f"/api/jobs/{_JOB}"),
                **common,
            ),
            Route(
                method="GET",
                handler=self.show_comparison,
                summary="Show what robots see of a site",
                description="The verdict of a template is `same`, `partly`, `shell` or `unknown`. The last "
                "20 comparisons are kept.",
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE,
                **common,
            ),
        ]


_EXAMPLE: Final = ComparisonAnswer(
    site_id=_ID,
    comparison_id="01JGGR2Z3WCCCCCCCCCCCCCCCC",
    made_at="2026-01-01T12:00:00.000Z",
    comparison=SiteComparison(
        templates=[
            ComparedTemplate(
                pattern="/products/{word}",
                known=214,
                visits=1_900,
                misses=12,
                verdict=SeenVerdict.SHELL,
                pages=[
                    ComparedPage(
                        url="https://www.example.com/products/lamp",
                        verdict=SeenVerdict.SHELL,
                        sight=PageSight(
                            raw=RobotFacts(
                                status=200,
                                words=3,
                                title="Shop",
                                description="",
                                canonical="",
                                robots="",
                                headlines=[],
                                links=0,
                                structured=[],
                            ),
                            rendered=RobotFacts(
                                status=200,
                                words=640,
                                title="Lamp",
                                description="A lamp.",
                                canonical="https://www.example.com/products/lamp",
                                robots="",
                                headlines=["Lamp"],
                                links=48,
                                structured=["Product"],
                            ),
                            shared=0.002,
                            differences=["title", "description", "canonical", "headlines", "structured"],
                            verdict=SeenVerdict.SHELL,
                        ),
                    )
                ],
            )
        ],
        robots={VisitOutcome.HIT: 1_888, VisitOutcome.SHELL: 12},
    ),
    history=[
        ComparisonLine(
            comparison_id="01JGGR2Z3WCCCCCCCCCCCCCCCC",
            made_at="2026-01-01T12:00:00.000Z",
            templates={SeenVerdict.SHELL: 1},
        )
    ],
)
