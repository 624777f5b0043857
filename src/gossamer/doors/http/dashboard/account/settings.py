"""The page about settings: what is in force, and where it comes from. For admins."""

from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.settings import SettingInForce, SettingsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters
from gossamer.state.tenants.tenants import Role

_PATH: Final = "/app/settings"
DEFAULT: Final = "default"


class SettingsView(msgspec.Struct):
    """Which settings to show."""

    text: str = ""
    only: str = ""  # "set": without those that have their default


class SettingsPages(Struct, frozen=True):
    dashboard: Dashboard
    endpoints: SettingsEndpoints

    async def show(self, exchange: Exchange, query: SettingsView) -> Response:
        chosen = filters(query)
        every = (await self.endpoints.list_settings(exchange)).settings
        found = [line for line in every if _fits(line, chosen["text"].lower(), chosen["only"])]
        return self.dashboard.render(
            exchange,
            "account/settings.html",
            here="settings",
            settings=found,
            total=len(every),
            chosen=chosen,
        )

    def routes(self) -> list[Route]:
        return [self.dashboard.page(_PATH, self.show, "Settings", needs=Role.ADMIN)]


def _fits(line: SettingInForce, text: str, only: str) -> bool:
    if only == "set" and line.source == DEFAULT:
        return False
    return any(text in part.lower() for part in (line.name, line.value, line.source, line.help))
