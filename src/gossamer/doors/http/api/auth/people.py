"""Endpoints for admins: the people who may sign in, and links that let them in."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.tenants.people import LINK_PATH, MAX_PEOPLE_LISTED, InvitedUser, NewUser, People
from gossamer.state.tenants.tenants import Role
from gossamer.state.tenants.users import User

_EXAMPLE_ID = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class ShownUser(msgspec.Struct, rename="camel"):
    """A person who may sign in."""

    id: str
    tenant_id: str
    email: str
    role: Role
    has_password: Annotated[bool, Meta(description="False until an invitation is accepted.")]
    created_at: str
    seen_at: str | None
    disabled_at: str | None


class LinkedUser(ShownUser, rename="camel"):
    """A person, and a link with which they set a password."""

    link: Annotated[str, Meta(description="It works once. Send it to the person; it is not shown again.")]


class UserList(msgspec.Struct, rename="camel"):
    """People, newest first."""

    users: list[ShownUser]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class UserQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which people to list."""

    tenant: Annotated[str | None, Meta(description="Only people of the tenant with this id.")] = None
    cursor: Annotated[str | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PEOPLE_LISTED, description="People in a page.")] = 50


class UserChange(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What to change about a person."""

    role: Literal["user", "admin"] | None = None
    disabled: bool | None = None


class UsageLink(msgspec.Struct, rename="camel"):
    """A link that shows a tenant's usage, and nothing else."""

    link: Annotated[str, Meta(description="It works for 30 days, for anybody who has it.")]


class PeopleEndpoints(Struct, frozen=True):
    people: People
    public_url: str

    async def add(self, exchange: Exchange, body: NewUser) -> Response:
        return answer(self.to_linked(await self.people.add(body, exchange.actor)), 201)

    async def list_people(self, exchange: Exchange, query: UserQuery) -> UserList:
        page = await self.people.list_page(tenant_id=query.tenant, cursor=query.cursor, limit=query.limit)
        return UserList([to_shown(user) for user in page.users], page.cursor)

    async def change(self, exchange: Exchange, id: str, body: UserChange) -> ShownUser:
        user = await self.people.get(id)
        if body.role is not None:
            user = await self.people.change_role(id, Role(body.role), exchange.actor)
        if body.disabled is not None:
            user = await self.people.set_disabled(id, exchange.actor, disabled=body.disabled)
        return to_shown(user)

    async def disable(self, exchange: Exchange, id: str) -> ShownUser:
        return to_shown(await self.people.set_disabled(id, exchange.actor, disabled=True))

    async def link(self, exchange: Exchange, id: str) -> Response:
        return answer(self.to_linked(await self.people.invite(id, exchange.actor)), 201)

    async def usage_link(self, exchange: Exchange) -> Response:
        token = await self.people.link_to_usage(exchange.caller.tenant_id, exchange.actor)
        return answer(UsageLink(self.address(token)), 201)

    def to_linked(self, invited: InvitedUser) -> LinkedUser:
        return LinkedUser(**msgspec.structs.asdict(to_shown(invited.user)), link=self.address(invited.token))

    def address(self, token: str) -> str:
        return f"{self.public_url}{LINK_PATH}{token}"

    def routes(self) -> list[Route]:
        admin: dict[str, Any] = {"needs": Role.ADMIN, "tag": "People"}
        one: dict[str, Any] = {
            **admin,
            "parameters": {"id": "The person's id."},
            "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
        }
        return [
            Route(
                method="POST",
                path="/api/admin/users",
                handler=self.add,
                summary="Add a person who may sign in",
                description="The answer contains a link to set a password with. No mail is sent.",
                status=201,
                answers=LinkedUser,
                problems=(problems.UNPROCESSABLE_ENTITY,),
                example_body=NewUser(email="you@example.com"),
                example=_EXAMPLE_LINKED,
                **admin,
            ),
            Route(
                method="GET",
                path="/api/admin/users",
                handler=self.list_people,
                summary="List the people who may sign in, newest first",
                example=UserList([_EXAMPLE], None),
                **admin,
            ),
            Route(
                method="POST",
                path="/api/admin/users/{id}",
                handler=self.change,
                summary="Change a person's role, or disable or enable them",
                description="A disabled person's sessions end at once. The last admin stays.",
                control=True,
                example_body=UserChange(role="admin"),
                example=msgspec.structs.replace(_EXAMPLE, role=Role.ADMIN),
                **one,
            ),
            Route(
                method="DELETE",
                path="/api/admin/users/{id}",
                handler=self.disable,
                summary="Disable a person",
                example=msgspec.structs.replace(_EXAMPLE, disabled_at="2026-02-01T12:00:00.000Z"),
                **one,
            ),
            Route(
                method="POST",
                path="/api/admin/users/{id}/link",
                handler=self.link,
                summary="Make a link with which a person sets a new password",
                status=201,
                answers=LinkedUser,
                example=_EXAMPLE_LINKED,
                **one,
            ),
            Route(
                method="POST",
                path="/api/usage/link",
                handler=self.usage_link,
                needs=Role.USER,
                tag="People",
                summary="Make a link that shows your usage, and nothing else",
                status=201,
                control=True,
                answers=UsageLink,
                example=UsageLink("http://127.0.0.1:8080/app/link?token=dGhpcyBpcyBvbmx5IGFuIGV4YW1wbGU"),
            ),
        ]


def to_shown(user: User) -> ShownUser:
    return ShownUser(
        id=user.id,
        tenant_id=user.tenant_id,
        email=user.email,
        role=user.role,
        has_password=bool(user.password_hash),
        created_at=timestamps.from_ms(user.created_at),
        seen_at=timestamps.from_ms(user.seen_at),
        disabled_at=timestamps.from_ms(user.disabled_at),
    )


_EXAMPLE = ShownUser(
    id=_EXAMPLE_ID,
    tenant_id="01JGGR2Z3W0000000000000000",
    email="you@example.com",
    role=Role.USER,
    has_password=False,
    created_at="2026-01-01T12:00:00.000Z",
    seen_at=None,
    disabled_at=None,
)
_EXAMPLE_LINKED = LinkedUser(
    **msgspec.structs.asdict(_EXAMPLE),
    link="http://127.0.0.1:8080/app/link?token=dGhpcyBpcyBvbmx5IGFuIGV4YW1wbGU",
)
