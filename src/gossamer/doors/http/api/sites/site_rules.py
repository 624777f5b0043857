"""The rules of a site over HTTP: show, replace, and try on a saved page."""

from typing import Any, Final

from msgspec import Struct

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.sites.rule_keeper import RuleKeeper
from gossamer.state.tenants.tenants import Role
from gossamer.web.sites.rule_trial import (
    MAX_TRIED_HTML,
    RuleWarning,
    SiteRuleTrial,
    SiteRuleTrialRequest,
    TriedContent,
    TriedSelector,
)
from gossamer.web.sites.site_rule import SiteRule, SiteRules
from gossamer.web.url.sent_headers import HIDDEN

_EXAMPLE: Final = SiteRules(
    rules=(
        SiteRule(path="/blog/*", keep=("article",), drop=(".share", "nav"), ignore_parameters=("ref",)),
        SiteRule(render="auto", delay=2.0, headers={"authorization": HIDDEN}),
    )
)
_EXAMPLE_BODY: Final = SiteRules(rules=(*_EXAMPLE.rules[:1], SiteRule(render="auto", delay=2.0)))
_EXAMPLE_TRIAL: Final = SiteRuleTrial(
    url="https://www.example.com/blog/hello?ref=home",
    matching=[0, 1],
    before=TriedContent(title="Hello", words=412, markdown="# Hello …"),
    after=TriedContent(title="Hello", words=380, markdown="# Hello …"),
    selectors=[
        TriedSelector(rule=0, field="keep", selector="article", matches=1, words=390, sample="Hello"),
        TriedSelector(rule=0, field="drop", selector=".share", matches=0, words=0, sample=""),
    ],
    counts_as="https://www.example.com/blog/hello",
    headers=["authorization"],
    render="auto",
    delay=2.0,
    concurrency=None,
    warnings=[RuleWarning.NO_MATCH],
)


class SiteRulesEndpoints(Struct, frozen=True):
    rules: RuleKeeper

    async def show_rules(self, exchange: Exchange, id: str) -> SiteRules:
        return SiteRules(rules=(await self.rules.keeper.get(exchange.caller, id)).rules)

    async def replace_rules(self, exchange: Exchange, id: str, body: SiteRules) -> SiteRules:
        return SiteRules(
            rules=await self.rules.replace_rules(exchange.caller, id, body.rules, exchange.actor)
        )

    async def try_rules(self, exchange: Exchange, id: str, body: SiteRuleTrialRequest) -> SiteRuleTrial:
        return await self.rules.try_out(exchange.caller, id, body)

    def routes(self) -> list[Route]:
        one: dict[str, Any] = {
            "needs": Role.USER,
            "tag": "Sites",
            "parameters": {"id": "The site's id."},
        }
        return [
            Route(
                method="GET",
                path="/api/sites/{id}/rules",
                handler=self.show_rules,
                summary="Show the rules of a site",
                description="The values of headers are hidden.",
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE,
                **one,
            ),
            Route(
                method="PUT",
                path="/api/sites/{id}/rules",
                handler=self.replace_rules,
                control=True,
                summary="Replace the rules of a site",
                description="Crawls that begin afterwards follow them, and so does the content of single "
                "pages. A header whose value is sent as it was shown keeps its value.",
                problems=(
                    problems.NOT_FOUND,
                    problems.UNPROCESSABLE_ENTITY,
                    problems.INVALID_SELECTOR,
                    problems.FORBIDDEN,
                ),
                example_body=_EXAMPLE_BODY,
                example=_EXAMPLE,
                **one,
            ),
            Route(
                method="POST",
                path="/api/sites/{id}/rules/try",
                handler=self.try_rules,
                summary="Try rules on a saved page",
                description="Shows its content before and after, and what each selector matches. Nothing is "
                "fetched, and nothing is stored.",
                idempotent=False,
                max_body_bytes=4 * MAX_TRIED_HTML,
                problems=(
                    problems.NOT_FOUND,
                    problems.INVALID_URL,
                    problems.INVALID_SELECTOR,
                    problems.CONTENT_UNREADABLE,
                ),
                example_body=SiteRuleTrialRequest(url="/blog/hello?ref=home", html="<article>…</article>"),
                example=_EXAMPLE_TRIAL,
                **one,
            ),
        ]
