"""Endpoint that shows the settings in force, for admins."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.settings.settings import Settings, variable
from gossamer.state.tenants.tenants import Role


class SettingInForce(msgspec.Struct, rename="camel"):
    """A setting as it is in this process."""

    name: Annotated[str, Meta(description="The variable that sets it.")]
    value: Annotated[str, Meta(description="Secrets are masked.")]
    source: Annotated[
        str, Meta(description="`default`, or the flag, the variable or the line of a file that sets it.")
    ]
    help: Annotated[str, Meta(description="What it is for.")]


class SettingList(msgspec.Struct, rename="camel"):
    """The settings in force, in the order of their documentation."""

    settings: list[SettingInForce]


class SettingsEndpoints(Struct, frozen=True):
    settings: Settings

    async def list_settings(self, exchange: Exchange) -> SettingList:
        return SettingList(
            [
                SettingInForce(variable(line.name), line.value, line.source, line.about)
                for line in self.settings.describe()
            ]
        )

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/admin/settings",
                handler=self.list_settings,
                needs=Role.ADMIN,
                tag="Operations",
                summary="List the settings in force",
                description="What `gossamer config` prints, as the server that answers sees it.",
                example=SettingList([_EXAMPLE]),
            )
        ]


_EXAMPLE: Final = SettingInForce(
    "GOSSAMER_PORT", "8080", "GOSSAMER_PORT in the environment", "Port to listen on"
)
