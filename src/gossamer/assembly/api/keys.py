"""Keys: one's own, and those that admins issue."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.admin.keys import KeysEndpoints
from gossamer.doors.http.api.admin.own_keys import OwnKeysEndpoints
from gossamer.flows.tenants.own_keys import OwnKeys

if TYPE_CHECKING:
    from gossamer.app import Service


class KeyApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        self.keys = KeysEndpoints(service.keys)
        self.own_keys = OwnKeysEndpoints(OwnKeys(service.keys))
