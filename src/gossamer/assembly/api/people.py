"""People, and how they sign in."""

from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import EndpointGroup
from gossamer.doors.http.api.auth.people import PeopleEndpoints
from gossamer.doors.http.api.auth.sign_in import SignInEndpoints
from gossamer.doors.http.core.cookies import SessionCookie

if TYPE_CHECKING:
    from gossamer.app import Service


class PeopleApi(EndpointGroup):
    def __init__(self, service: "Service") -> None:
        upgrade_url, public_url = service.settings.upgrade_url, service.settings.public_url
        self.sign_in = SignInEndpoints(service.sign_in, SessionCookie.of(public_url), upgrade_url)
        self.people = PeopleEndpoints(service.people, public_url)
