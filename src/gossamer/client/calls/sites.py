"""The calls about sites."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack
from urllib.parse import urlencode

from gossamer.client.calls.api_calls import ApiCalls, path_below
from gossamer.client.options import RecacheKeywords, RuleTrialKeywords, SiteKeywords, body_of

if TYPE_CHECKING:
    from gossamer.web.sites.bot_visits import BotAnswer
    from gossamer.web.sites.hook_answer import ShownHook
    from gossamer.web.sites.rule_trial import SiteRuleTrial
    from gossamer.web.sites.site_answer import ProofAnswer, RecacheAccepted, ShownSite
    from gossamer.web.sites.site_comparison import ComparisonAnswer
    from gossamer.web.sites.site_rule import SiteRules

_HERE: Final = "/api/sites"


class SiteCalls(ApiCalls):
    async def add_site(
        self, origin: str, *, name: str = "", settings: Mapping[str, Any] | None = None
    ) -> "ShownSite":
        """Register a site of yours; `proof_steps` of the answer are the ways to prove it."""
        body = {"origin": origin, "name": name, "settings": settings or {}}
        return await self._ask_site("POST", _HERE, body)

    async def sites(self, *, limit: int = 50) -> "list[ShownSite]":
        """Your sites, the newest first."""
        from gossamer.web.sites.site_answer import SiteList

        return await self.list_rows(_HERE, SiteList, lambda page: page.sites, limit)

    async def site(self, id: str) -> "ShownSite":  # noqa: A002
        return await self._ask_site("GET", path_below(_HERE, id))

    async def change_site(self, id: str, **changes: Unpack[SiteKeywords]) -> "ShownSite":  # noqa: A002
        """Change its `name` or its `settings`, which are replaced as a whole."""
        return await self._ask_site("PATCH", path_below(_HERE, id), changes)

    async def prove_site(self, id: str, *, method: str | None = None) -> "ProofAnswer":  # noqa: A002
        """Look for the proof that it is yours: by `dns`, `file` or `meta`, or everywhere."""
        from gossamer.web.sites.site_answer import ProofAnswer

        return await self.ask("POST", path_below(_HERE, id, "proof"), ProofAnswer, {"method": method})

    async def recache_site(self, id: str, **pages: Unpack[RecacheKeywords]) -> "RecacheAccepted":  # noqa: A002
        """Render pages again: those of `urls`, below `prefix`, or in `sitemap`."""
        from gossamer.web.sites.site_answer import RecacheAccepted

        return await self.ask("POST", path_below(_HERE, id, "recache"), RecacheAccepted, pages)

    async def site_bots(
        self,
        id: str,  # noqa: A002
        *,
        days: int = 7,
        by: Literal["hour", "day"] = "day",
    ) -> "BotAnswer":
        """What robots asked for and got."""
        from gossamer.web.sites.bot_visits import BotAnswer

        query = urlencode({"days": days, "by": by})
        return await self.ask("GET", f"{path_below(_HERE, id, 'bots')}?{query}", BotAnswer)

    async def site_rules(self, id: str) -> "SiteRules":  # noqa: A002
        """How pages of the site are crawled and read; values of headers are hidden."""
        from gossamer.web.sites.site_rule import SiteRules

        return await self.ask("GET", path_below(_HERE, id, "rules"), SiteRules)

    async def replace_site_rules(self, id: str, rules: Sequence[Mapping[str, Any]]) -> "SiteRules":  # noqa: A002
        """Crawls that begin afterwards follow them."""
        from gossamer.web.sites.site_rule import SiteRules

        return await self.ask("PUT", path_below(_HERE, id, "rules"), SiteRules, {"rules": list(rules)})

    async def try_site_rules(self, id: str, url: str, **page: Unpack[RuleTrialKeywords]) -> "SiteRuleTrial":  # noqa: A002
        """What rules do to a saved page: `html`, or the page of the crawl with `crawl_id`."""
        from gossamer.web.sites.rule_trial import SiteRuleTrial

        body = {"url": url, **body_of("try_site_rules", RuleTrialKeywords, page)}
        return await self.ask("POST", path_below(_HERE, id, "rules", "try"), SiteRuleTrial, body)

    async def make_site_hook(
        self,
        id: str,  # noqa: A002
        *,
        signed: bool = False,
        old_seconds: int = 86_400,
    ) -> "ShownHook":
        """Make or replace the address at which a system says that pages have changed. It is shown once."""
        from gossamer.web.sites.hook_answer import ShownHook

        body = {"signed": signed, "oldSeconds": old_seconds}
        return await self.ask("POST", path_below(_HERE, id, "hook"), ShownHook, body)

    async def site_hook(self, id: str) -> "ShownHook":  # noqa: A002
        from gossamer.web.sites.hook_answer import ShownHook

        return await self.ask("GET", path_below(_HERE, id, "hook"), ShownHook)

    async def remove_site_hook(self, id: str) -> "ShownHook":  # noqa: A002
        from gossamer.web.sites.hook_answer import ShownHook

        return await self.ask("DELETE", path_below(_HERE, id, "hook"), ShownHook)

    async def compare_site(self, id: str, *, pages: int = 2, templates: int = 20) -> "RecacheAccepted":  # noqa: A002
        """Compare pages of each template with what robots see; `pages` of each. A job does it."""
        from gossamer.web.sites.site_answer import RecacheAccepted

        body = {"pages": pages, "templates": templates}
        return await self.ask("POST", path_below(_HERE, id, "comparison"), RecacheAccepted, body)

    async def site_comparison(self, id: str, *, comparison: str | None = None) -> "ComparisonAnswer":  # noqa: A002
        """What robots see of the site: the newest comparison, or another one that is kept."""
        from gossamer.web.sites.site_comparison import ComparisonAnswer

        query = f"?{urlencode({'comparison': comparison})}" if comparison else ""
        return await self.ask("GET", path_below(_HERE, id, "comparison") + query, ComparisonAnswer)

    async def remove_site(self, id: str) -> "ShownSite":  # noqa: A002
        """Remove it, with its reports and its schedule. Cached pages stay."""
        return await self._ask_site("DELETE", path_below(_HERE, id))

    async def _ask_site(self, method: str, path: str, body: Any = None) -> "ShownSite":
        from gossamer.web.sites.site_answer import ShownSite

        return await self.ask(method, path, ShownSite, body)
