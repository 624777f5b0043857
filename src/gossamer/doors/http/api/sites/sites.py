"""Sites over HTTP: register, prove, change, render again, and see what robots get."""

from typing import Any

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.sites import site_shapes as shapes
from gossamer.doors.http.api.sites.site_shapes import BotQuery, SiteQuery
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.sites.bot_reports import BotReports
from gossamer.flows.sites.site_keeper import NewSite, SiteKeeper
from gossamer.flows.sites.site_warmer import SiteWarmer
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.job import Job
from gossamer.state.sites.sites import RegisteredSite
from gossamer.state.tenants.tenants import Role
from gossamer.web.render.request import MAX_WARM_URLS
from gossamer.web.sites.bot_visits import MAX_REPORTED, BotAnswer, BotReport, BotVisit, ReportTaken
from gossamer.web.sites.site_answer import (
    ProofAnswer,
    ProofRequest,
    RecacheAccepted,
    ShownSite,
    SiteChange,
    SiteList,
    SiteRecacheRequest,
    SiteRequest,
)
from gossamer.web.sites.site_words import ProofMethod, VisitOutcome
from gossamer.web.url.url import MAX_URL_CHARS

PROOF_DEADLINE = 60.0


class SitesEndpoints(Struct, frozen=True):
    keeper: SiteKeeper
    warmer: SiteWarmer
    reports: BotReports

    async def register_site(self, exchange: Exchange, body: SiteRequest) -> Response:
        async def remember(connection: AsyncConnection, new: NewSite) -> None:
            await exchange.remember(connection, _to_created(new))

        return _to_created(await self.keeper.register(exchange.caller, body, exchange.actor, remember))

    async def list_sites(self, exchange: Exchange, query: SiteQuery) -> SiteList:
        found = await self.keeper.list_sites(exchange.caller, before=query.cursor, limit=query.limit + 1)
        page = found[: query.limit]
        more = page[-1].id if len(found) > query.limit else None
        return SiteList([await self._show(site) for site in page], more)

    async def get_site(self, exchange: Exchange, id: str) -> ShownSite:
        return await self._show(await self.keeper.get(exchange.caller, id))

    async def change_site(self, exchange: Exchange, id: str, body: SiteChange) -> ShownSite:
        await self.keeper.change(exchange.caller, id, body, exchange.actor)
        return await self.get_site(exchange, id)

    async def prove_site(self, exchange: Exchange, id: str, body: ProofRequest) -> ProofAnswer:
        method = None if body.method is None else ProofMethod(body.method)
        checks = await self.keeper.prove(exchange.caller, id, method, exchange.actor)
        return ProofAnswer(await self.get_site(exchange, id), checks)

    async def recache_site(self, exchange: Exchange, id: str, body: SiteRecacheRequest) -> Response:
        site = await self.keeper.get(exchange.caller, id, proven=True)
        return _to_accepted(await self.warmer.recache(exchange.caller, site, body, exchange.actor))

    async def report_bots(self, exchange: Exchange, id: str, body: BotReport) -> ReportTaken:
        site = await self.keeper.get(exchange.caller, id, proven=True)
        return ReportTaken(self.reports.take(site, body))

    async def show_bots(self, exchange: Exchange, id: str, query: BotQuery) -> BotAnswer:
        site = await self.keeper.get(exchange.caller, id)
        return await self.reports.show(site, days=query.days, by=query.by)

    async def remove_site(self, exchange: Exchange, id: str) -> ShownSite:
        """As it was."""
        removed = await self.get_site(exchange, id)
        await self.keeper.remove(exchange.caller, id, exchange.actor)
        return removed

    async def _show(self, site: RegisteredSite) -> ShownSite:
        schedule = None if site.settings.warm_up is None else await self.keeper.warm_up_of(site)
        return shapes.to_api(site, None if schedule is None else schedule.id)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Sites"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The site's id."},
            "problems": (problems.NOT_FOUND,),
        }
        shown = {**one, "example": shapes.EXAMPLE_SITE}
        changing = {**shown, "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY)}
        return [
            Route(
                method="POST",
                path="/api/sites",
                handler=self.register_site,
                summary="Register a site of yours",
                description="`proofSteps` of the answer are the ways to prove that it is yours. Until then, "
                "its settings are not used. Sites that an admin registers need no proof.",
                status=201,
                answers=ShownSite,
                problems=(
                    problems.INVALID_URL,
                    problems.INVALID_SELECTOR,
                    problems.QUOTA_EXCEEDED,
                    problems.UNPROCESSABLE_ENTITY,
                ),
                example_body=SiteRequest(
                    origin="https://www.example.com", name="Shop", settings=shapes.EXAMPLE_SETTINGS
                ),
                example=shapes.EXAMPLE_SITE,
                **common,
            ),
            Route(
                method="GET",
                path="/api/sites",
                handler=self.list_sites,
                summary="List your sites, newest first",
                example=SiteList([shapes.EXAMPLE_SITE], None),
                **common,
            ),
            Route(
                method="GET", path="/api/sites/{id}", handler=self.get_site, summary="Show a site", **shown
            ),
            Route(
                method="PATCH",
                path="/api/sites/{id}",
                handler=self.change_site,
                control=True,
                summary="Change a site",
                description="What is left out stays. `settings` are replaced as a whole, and are used by all "
                "servers within seconds.",
                example_body=SiteChange(settings=shapes.EXAMPLE_SETTINGS),
                **{
                    **changing,
                    "problems": (
                        *changing["problems"],
                        problems.INVALID_URL,
                        problems.INVALID_SELECTOR,
                        problems.QUOTA_EXCEEDED,
                    ),
                },
            ),
            Route(
                method="POST",
                path="/api/sites/{id}/proof",
                handler=self.prove_site,
                summary="Look for the proof that a site is yours",
                description="`checks` tells what was found in each place. It is looked for again every week, "
                "and a site whose proof is missing three times is proven no more.",
                deadline=PROOF_DEADLINE,
                example_body=ProofRequest(method="dns"),
                **{**one, "example": ProofAnswer(shapes.EXAMPLE_SITE, shapes.EXAMPLE_CHECKS)},
            ),
            Route(
                method="POST",
                path="/api/sites/{id}/recache",
                handler=self.recache_site,
                summary="Render pages of a site again",
                description="The renders are queued by a job, at the pace of the site. What it excludes is "
                "left out.",
                status=202,
                answers=RecacheAccepted,
                max_body_bytes=MAX_WARM_URLS * MAX_URL_CHARS + 100_000,
                example_body=SiteRecacheRequest(urls=("/", "/news")),
                **{
                    **changing,
                    "problems": (*changing["problems"], problems.INVALID_URL, problems.QUOTA_EXCEEDED),
                    "example": RecacheAccepted(
                        "01JGGR2Z3WAAAAAAAAAAAAAAAA", "/api/jobs/01JGGR2Z3WAAAAAAAAAAAAAAAA"
                    ),
                },
            ),
            Route(
                method="POST",
                path="/api/sites/{id}/reports",
                handler=self.report_bots,
                control=True,
                summary="Report visits of robots",
                description="For what this server does not see by itself: what your own server or cache "
                "has answered. Visits are counted, and not stored one by one.",
                max_body_bytes=MAX_REPORTED * (MAX_URL_CHARS + 1_500),
                example_body=BotReport(
                    visits=(BotVisit(bot="GPTBot", outcome=VisitOutcome.SHELL, url="/", status=200),)
                ),
                **{**changing, "example": ReportTaken(1)},
            ),
            Route(
                method="GET",
                path="/api/sites/{id}/bots",
                handler=self.show_bots,
                summary="Show what robots asked for and got",
                description="By robot and over time, and the pages that they got no rendering of.",
                **{**one, "example": shapes.EXAMPLE_BOTS},
            ),
            Route(
                method="DELETE",
                path="/api/sites/{id}",
                handler=self.remove_site,
                control=True,
                summary="Remove a site, with its reports and its schedule",
                description="The answer shows it as it was. Cached pages stay.",
                **shown,
            ),
        ]


def _to_created(new: NewSite) -> Response:
    return answer(shapes.to_api(*new), 201, {"Location": f"/api/sites/{new.site.id}"})


def _to_accepted(job: Job) -> Response:
    where = f"/api/jobs/{job.job_id}"
    return answer(RecacheAccepted(job.job_id, where), 202, {"Location": where})
