"""People: add, list, change and disable those who may sign in, and make links that let them in."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from gossamer.flows.tenants.keys import FIRST_EMAIL, normalise_email
from gossamer.problems import NOT_FOUND, UNPROCESSABLE_ENTITY, Problem, validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.tenants import activity, sessions, tenants, users
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.sessions import LinkPurpose
from gossamer.state.tenants.tenants import Role
from gossamer.state.tenants.users import User

MAX_PEOPLE_LISTED: Final = 100
LINK_PATH: Final = "/app/link?token="  # the query is not logged
_ID: Final = re.compile(r"[0-9A-Z]{26}")


class NewUser(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A person who may sign in."""

    email: Annotated[str, Meta(max_length=254, description="The person's address. It is their name here.")]
    role: Annotated[Literal["user", "admin"], Meta(description="An admin may do everything.")] = "user"
    tenant: Annotated[
        str,
        Meta(max_length=254, description="The email of the tenant that the person joins; else their own."),
    ] = ""


@dataclass(frozen=True, slots=True)
class InvitedUser:
    """A person, and the token of a link that lets them in."""

    user: User
    token: str = field(repr=False)


class PeoplePage(Struct, frozen=True):
    users: list[User]
    cursor: str | None  # where the next page begins; None on the last one


class People(Struct, frozen=True):
    database: Database

    async def add(self, new: NewUser, by: Actor) -> InvitedUser:
        """Add a person, and make an invitation."""
        async with self.database.write() as connection:
            user = await _add(connection, new)
            entry = ActivityEntry(user.tenant_id, Action.USER_ADDED, user.id, by, f"{user.email}, {new.role}")
            await activity.record(connection, entry)
            return InvitedUser(user, await _link(connection, user, LinkPurpose.INVITATION))

    async def ensure(self, email: str, role: Role, by: Actor) -> User:
        """The person of this email, added if missing. For people who prove who they are elsewhere."""
        async with self.database.write() as connection:
            known = await users.find_user(connection, normalise_email(email))
            if known is not None:
                return known
            user = await _add(
                connection, NewUser(email=email, role="admin" if role is Role.ADMIN else "user")
            )
            await activity.record(
                connection, ActivityEntry(user.tenant_id, Action.USER_ADDED, user.id, by, user.email)
            )
            return user

    async def list_page(
        self, *, tenant_id: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> PeoplePage:
        if cursor is not None and not _ID.fullmatch(cursor):
            raise validation_error(
                "The cursor is not one that was given out.", hint="Leave it out to start over."
            )
        async with self.database.read() as connection:
            found = await users.list_users(connection, tenant_id=tenant_id, before=cursor, limit=limit + 1)
        page = found[:limit]
        return PeoplePage(page, page[-1].id if len(found) > limit else None)

    async def get(self, user_id: str) -> User:
        async with self.database.read() as connection:
            return await _get(connection, user_id)

    async def find(self, email: str) -> User:
        async with self.database.read() as connection:
            return _require(await users.find_user(connection, normalise_email(email)))

    async def change_role(self, user_id: str, role: Role, by: Actor) -> User:
        async with self.database.write() as connection:
            user = await _get(connection, user_id)
            if user.role is not role:
                await users.set_role(connection, user.id, role)
                await _keep_an_admin(connection)
                entry = ActivityEntry(user.tenant_id, Action.USER_CHANGED, user.id, by, f"role {role.value}")
                await activity.record(connection, entry)
            return await _get(connection, user_id)

    async def set_disabled(self, user_id: str, by: Actor, *, disabled: bool) -> User:
        """A disabled person cannot sign in, and their sessions end at once. A repeat changes nothing."""
        async with self.database.write() as connection:
            user = await _get(connection, user_id)
            if (user.disabled_at is not None) is disabled:
                return user
            await users.set_disabled(connection, user.id, disabled=disabled)
            await _keep_an_admin(connection)
            if disabled:
                await sessions.end_sessions(connection, user.id)
            action = Action.USER_DISABLED if disabled else Action.USER_ENABLED
            await activity.record(connection, ActivityEntry(user.tenant_id, action, user.id, by, user.email))
            return await _get(connection, user_id)

    async def invite(self, user_id: str, by: Actor) -> InvitedUser:
        """A new link with which a person sets a password. Links made before stop working when it is used."""
        async with self.database.write() as connection:
            user = await _get(connection, user_id)
            if user.disabled_at is not None:
                raise Problem(
                    UNPROCESSABLE_ENTITY, f"{user.email} is disabled.", hint="Enable the person first."
                )
            purpose = LinkPurpose.RESET if user.password_hash else LinkPurpose.INVITATION
            entry = ActivityEntry(user.tenant_id, Action.USER_INVITED, user.id, by, purpose.value)
            await activity.record(connection, entry)
            return InvitedUser(user, await _link(connection, user, purpose))

    async def link_to_usage(self, tenant_id: str, by: Actor) -> str:
        """The token of a link that shows the usage of a tenant, and nothing else."""
        token = sessions.new_secret()
        async with self.database.write() as connection:
            await sessions.add_link(connection, token, LinkPurpose.USAGE, tenant_id=tenant_id, user_id=None)
            entry = ActivityEntry(tenant_id, Action.LINK_MADE, tenant_id, by, LinkPurpose.USAGE.value)
            await activity.record(connection, entry)
        return token

    async def first_link(self) -> InvitedUser:
        """A link that signs the first admin in; the admin is added if missing."""
        async with self.database.write() as connection:
            user = await users.find_user(connection, FIRST_EMAIL) or await _add(
                connection, NewUser(email=FIRST_EMAIL, role="admin")
            )
            return InvitedUser(user, await _link(connection, user, LinkPurpose.SIGN_IN))


async def _add(connection: AsyncConnection, new: NewUser) -> User:
    email = normalise_email(new.email)
    tenant = await tenants.ensure_tenant(connection, normalise_email(new.tenant or email))
    user = await users.add_user(connection, tenant_id=tenant.id, email=email, role=Role(new.role))
    if user is None:
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"There is a person with the email {email} already.",
            hint="Make a new link for them instead.",
        )
    return user


async def _link(connection: AsyncConnection, user: User, purpose: LinkPurpose) -> str:
    token = sessions.new_secret()
    await sessions.add_link(connection, token, purpose, tenant_id=user.tenant_id, user_id=user.id)
    return token


async def _keep_an_admin(connection: AsyncConnection) -> None:
    if not await users.active_admins(connection):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "Nobody could administer this Gossamer any more.",
            hint="Make somebody else an admin first.",
        )


async def _get(connection: AsyncConnection, user_id: str) -> User:
    return _require(await users.get_user(connection, user_id) if _ID.fullmatch(user_id) else None)


def _require(user: User | None) -> User:
    if user is None:
        raise Problem(NOT_FOUND, "There is no such person.", hint="List the people and use an id from there.")
    return user
