"""The pages about people who may sign in, for admins."""

from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.auth.people import PeopleEndpoints, UserChange, UserQuery, to_shown
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.flows.tenants.people import InvitedUser, NewUser
from gossamer.flows.tenants.tenant_list import TenantList
from gossamer.state.tenants.tenants import Role

_HERE: Final = "people"
_LIST: Final = "/app/people"
_ONE: Final = "/app/people/{id}"


class PeopleView(msgspec.Struct):
    """Which people to show."""

    tenant: str = ""
    cursor: str = ""


class PeoplePages(Struct, frozen=True):
    dashboard: Dashboard
    endpoints: PeopleEndpoints
    tenants: TenantList

    async def show(self, exchange: Exchange, query: PeopleView, form: Form = NO_FORM) -> Response:
        chosen = filters(query)
        found = await self.endpoints.list_people(exchange, chosen.to(UserQuery))
        wanted = {user.tenant_id for user in found.users} | ({query.tenant} if query.tenant else set())
        return self.dashboard.render(
            exchange,
            "account/people.html",
            here=_HERE,
            form=form,
            people=found.users,
            tenants=await self.tenants.emails(wanted),
            tenant=query.tenant,
            **list_links(_LIST, chosen, found.next_cursor),
        )

    async def show_again(self, exchange: Exchange, form: Form) -> Response:
        return await self.show(exchange, PeopleView(), form)

    async def add(self, exchange: Exchange, form: Form) -> Response:
        return self._invitation(
            exchange, await self.endpoints.people.add(form.to(NewUser), exchange.actor), added=True
        )

    async def show_one(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        user = await self.endpoints.people.get(id)
        return self.dashboard.render(
            exchange,
            "account/person.html",
            here=_HERE,
            form=form,
            person=to_shown(user),
            tenants=await self.tenants.emails({user.tenant_id}),
            is_oneself=user.id == exchange.caller.key_id,
        )

    async def change_role(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.endpoints.change(exchange, id, form.to(UserChange))
        return self.dashboard.see(_ONE.format(id=id), notice="role-changed")

    async def disable(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.endpoints.people.set_disabled(id, exchange.actor, disabled=True)
        return self.dashboard.see(_ONE.format(id=id), notice="person-disabled")

    async def enable(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.endpoints.people.set_disabled(id, exchange.actor, disabled=False)
        return self.dashboard.see(_ONE.format(id=id), notice="person-enabled")

    async def link(self, exchange: Exchange, form: Form, id: str) -> Response:
        return self._invitation(exchange, await self.endpoints.people.invite(id, exchange.actor), added=False)

    def _invitation(self, exchange: Exchange, invited: InvitedUser, *, added: bool) -> Response:
        """The one page that shows the link."""
        person = self.endpoints.to_linked(invited)
        return self.dashboard.render(
            exchange, "account/invitation.html", here=_HERE, person=person, added=added
        )

    def routes(self) -> list[Route]:
        page, form, admin = self.dashboard.page, self.dashboard.form, Role.ADMIN
        one = self.show_one
        return [
            page(_LIST, self.show, "People", needs=admin),
            form(_LIST, self.add, "Add a person", show=self.show_again, needs=admin),
            page(_ONE, one, "A person", needs=admin),
            form(f"{_ONE}/role", self.change_role, "Change a person's role", show=one, needs=admin),
            form(f"{_ONE}/disable", self.disable, "Disable a person", show=one, needs=admin),
            form(f"{_ONE}/enable", self.enable, "Enable a person", show=one, needs=admin),
            form(f"{_ONE}/link", self.link, "Make a link that sets a password", show=one, needs=admin),
        ]
