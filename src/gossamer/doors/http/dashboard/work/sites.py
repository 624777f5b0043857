"""The pages of sites: the list with the form that registers one, and one site with what robots got."""

from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.sites.site_comparison import ComparisonQuery, SiteComparisonEndpoints
from gossamer.doors.http.api.sites.site_hooks import SiteHookEndpoints
from gossamer.doors.http.api.sites.site_rules import SiteRulesEndpoints
from gossamer.doors.http.api.sites.site_shapes import BotQuery, SiteQuery
from gossamer.doors.http.api.sites.sites import SitesEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.work.site_form import (
    read_settings,
    rendering_fields,
    typed_settings,
    warm_up_fields,
)
from gossamer.flows.sites.site_keeper import NewSite
from gossamer.problems import validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.web.sites.hook_answer import HookRequest, ShownHook
from gossamer.web.sites.site_answer import (
    ProofCheck,
    ProofRequest,
    SiteChange,
    SiteRecacheRequest,
    SiteRequest,
)
from gossamer.web.sites.site_comparison import ComparisonRequest
from gossamer.web.sites.site_rule import SiteRule, SiteRules
from gossamer.web.sites.site_words import VisitOutcome

HERE: Final = "/app/sites"
SHOWN_DAYS: Final = 30
FACTS: Final = (
    ("status", "Status"),
    ("title", "Title"),
    ("description", "Description"),
    ("headlines", "Headlines"),
    ("canonical", "Canonical"),
    ("robots", "Robots"),
    ("structured", "Structured data"),
    ("words", "Words"),
    ("links", "Links"),
)
PLACES: Final = {
    "dns": "A TXT record in DNS",
    "file": "A file on the site",
    "meta": "A tag in the head of the home page",
}


class SitesShown(msgspec.Struct):
    """Which sites a page lists."""

    cursor: str = ""


class SitePages(Struct, frozen=True):
    dashboard: Dashboard
    sites: SitesEndpoints
    rules: SiteRulesEndpoints
    hooks: SiteHookEndpoints
    comparison: SiteComparisonEndpoints

    async def show_list(
        self, exchange: Exchange, query: SitesShown | None = None, form: Form = NO_FORM
    ) -> Response:
        shown = query or SitesShown()
        found = await self.sites.list_sites(exchange, SiteQuery(cursor=shown.cursor or None))
        return self.dashboard.render(
            exchange,
            "automation/sites.html",
            here="sites",
            found=found.sites,
            form=form,
            **list_links(HERE, filters(shown), found.next_cursor),
        )

    async def register(self, exchange: Exchange, form: Form) -> Response:
        request = SiteRequest(origin=form["origin"].strip(), name=form["name"])

        async def remember(connection: AsyncConnection, new: NewSite) -> None:
            await exchange.remember(connection, self._see(new.site.id, "site-registered"))

        made = await self.sites.keeper.register(exchange.caller, request, exchange.actor, remember)
        return self._see(made.site.id, "site-registered")

    async def show(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        return await self._show(exchange, id, form)

    async def prove(self, exchange: Exchange, form: Form, id: str) -> Response:
        found = await self.sites.prove_site(exchange, id, ProofRequest())
        if found.site.state == "proven":
            return self._see(id, "site-proven")
        return await self._show(exchange, id, form, found.checks)

    async def change(self, exchange: Exchange, form: Form, id: str) -> Response:
        settings = read_settings(form)
        await self.sites.change_site(exchange, id, SiteChange(name=form["name"], settings=settings))
        return self._see(id, "site-changed")

    async def recache(self, exchange: Exchange, form: Form, id: str) -> Response:
        wanted = SiteRecacheRequest(urls=tuple(form.lines("urls")), prefix=form["prefix"].strip() or None)
        site = await self.sites.keeper.get(exchange.caller, id, proven=True)
        job = await self.sites.warmer.recache(exchange.caller, site, wanted, exchange.actor)
        return self.dashboard.see(f"/app/jobs/{job.job_id}")

    async def change_rules(self, exchange: Exchange, form: Form, id: str) -> Response:
        try:
            rules = msgspec.json.decode(form["rules"] or "[]", type=tuple[SiteRule, ...])
        except msgspec.MsgspecError as error:
            raise validation_error(f"The rules cannot be used: {error}.", hint="Correct them.") from None
        await self.rules.replace_rules(exchange, id, SiteRules(rules=rules))
        return self._see(id, "site-changed")

    async def make_hook(self, exchange: Exchange, form: Form, id: str) -> Response:
        """The address is shown once, so this page is not an answer that can be asked for again."""
        wanted = HookRequest(signed=form.is_on("signed"))
        made = await self.hooks.issue(exchange, id, wanted)
        return await self._show(exchange, id, NO_FORM, hook=made)

    async def remove_hook(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.hooks.remove_hook(exchange, id)
        return self._see(id, "site-hook-removed")

    async def show_comparison(
        self, exchange: Exchange, id: str, query: ComparisonQuery | None = None, form: Form = NO_FORM
    ) -> Response:
        site = await self.sites.get_site(exchange, id)
        found = await self.comparison.show_comparison(exchange, id, query or ComparisonQuery())
        return self.dashboard.render(
            exchange,
            "automation/comparison.html",
            here="sites",
            form=form,
            site=site,
            found=found,
            facts=FACTS,
        )

    async def compare(self, exchange: Exchange, form: Form, id: str) -> Response:
        site = await self.sites.keeper.get(exchange.caller, id, proven=True)
        wanted = form.to(ComparisonRequest)
        job = await self.comparison.comparer.queue(exchange.caller, site, wanted, exchange.actor)
        return self.dashboard.see(f"/app/jobs/{job.job_id}")

    async def ask_to_remove(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        site = await self.sites.get_site(exchange, id)
        return self.dashboard.ask_to_delete(
            exchange,
            f"{HERE}/{id}",
            noun="site",
            subject=site.origin,
            consequence="Its settings, its warm-up and what was counted are deleted. Cached pages stay.",
            form=form,
        )

    async def remove(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.sites.remove_site(exchange, id)
        return self.dashboard.see(HERE, notice="site-removed")

    async def _show(
        self,
        exchange: Exchange,
        id: str,
        form: Form,
        checks: list[ProofCheck] | None = None,
        hook: ShownHook | None = None,
    ) -> Response:
        site = await self.sites.get_site(exchange, id)
        bots = await self.sites.show_bots(exchange, id, BotQuery(days=SHOWN_DAYS))
        was_typed = form.problem is not None and form.action == f"{HERE}/{id}/change"
        typed = form if was_typed else Form({"name": site.name, **typed_settings(site.settings)})
        rules = msgspec.json.format(
            msgspec.json.encode((await self.rules.show_rules(exchange, id)).rules), indent=2
        )
        return self.dashboard.render(
            exchange,
            "automation/site.html",
            here="sites",
            form=form,
            change=typed,
            fields=rendering_fields(),
            warm_up_fields=warm_up_fields(),
            rules=form["rules"] if form["rules"] else rules.decode(),
            hook=hook or await self.hooks.show_hook(exchange, id),
            site=site,
            places=PLACES,
            checks=checks or [],
            bots=bots,
            days=SHOWN_DAYS,
            outcomes=[outcome for outcome in VisitOutcome if outcome in bots.total.by_outcome],
        )

    def _see(self, site_id: str, notice: str) -> Response:
        return self.dashboard.see(f"{HERE}/{site_id}", notice=notice)

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        one = f"{HERE}/{{id}}"
        return [
            page(HERE, self.show_list, "Sites"),
            form(HERE, self.register, "Register a site", show=self.show_list, control=False),
            page(one, self.show, "A site"),
            form(
                f"{one}/proof", self.prove, "Look for the proof of a site", show=self.show, idempotent=False
            ),
            form(f"{one}/change", self.change, "Change a site", show=self.show),
            form(f"{one}/recache", self.recache, "Render pages of a site again", show=self.show),
            form(f"{one}/rules", self.change_rules, "Change the rules of a site", show=self.show),
            form(
                f"{one}/hook",
                self.make_hook,
                "Make the incoming webhook of a site",
                show=self.show,
                idempotent=False,
            ),
            form(
                f"{one}/hook/remove",
                self.remove_hook,
                "Remove the incoming webhook of a site",
                show=self.show,
            ),
            page(f"{one}/comparison", self.show_comparison, "What robots see of a site"),
            form(
                f"{one}/comparison",
                self.compare,
                "Compare pages of a site with what robots see",
                show=self.show_comparison,
            ),
            page(f"{one}/delete", self.ask_to_remove, "Ask before a site is removed"),
            form(f"{one}/delete", self.remove, "Remove a site", show=self.ask_to_remove),
        ]
