"""The calls about sites."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack
from urllib.parse import urlencode

from gossamer.client.calls.api_calls import ApiCalls, path_below
from gossamer.client.options import RecacheKeywords, SiteKeywords

if TYPE_CHECKING:
    from gossamer.web.sites.bot_visits import BotAnswer
    from gossamer.web.sites.site_answer import ProofAnswer, RecacheAccepted, ShownSite

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

    async def remove_site(self, id: str) -> "ShownSite":  # noqa: A002
        """Remove it, with its reports and its schedule. Cached pages stay."""
        return await self._ask_site("DELETE", path_below(_HERE, id))

    async def _ask_site(self, method: str, path: str, body: Any = None) -> "ShownSite":
        from gossamer.web.sites.site_answer import ShownSite

        return await self.ask(method, path, ShownSite, body)
