"""Calls about sites. Their answers are imported when one is made."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from gossamer.client.client import Client
    from gossamer.web.sites.bot_visits import BotAnswer
    from gossamer.web.sites.site_answer import ProofAnswer, RecacheAccepted, ShownSite

_HERE: Final = "/api/sites"


async def ask_one(client: "Client", method: str, path: str, body: Any = None) -> "ShownSite":
    from gossamer.web.sites.site_answer import ShownSite

    return await client.ask(method, f"{_HERE}{path}", ShownSite, body)


async def list_all(client: "Client", limit: int) -> "list[ShownSite]":
    from gossamer.web.sites.site_answer import SiteList

    return await client.list_rows(_HERE, SiteList, lambda page: page.sites, limit)


async def prove(client: "Client", site_id: str, method: str | None) -> "ProofAnswer":
    from gossamer.web.sites.site_answer import ProofAnswer

    return await client.ask("POST", f"{_HERE}{path_of(site_id)}/proof", ProofAnswer, {"method": method})


async def recache(client: "Client", site_id: str, body: Mapping[str, Any]) -> "RecacheAccepted":
    from gossamer.web.sites.site_answer import RecacheAccepted

    return await client.ask("POST", f"{_HERE}{path_of(site_id)}/recache", RecacheAccepted, body)


async def bots(client: "Client", site_id: str, query: Mapping[str, Any]) -> "BotAnswer":
    from gossamer.web.sites.bot_visits import BotAnswer

    return await client.ask("GET", f"{_HERE}{path_of(site_id)}/bots?{urlencode(query)}", BotAnswer)


def path_of(site_id: str) -> str:
    return f"/{quote(site_id, safe='')}"
