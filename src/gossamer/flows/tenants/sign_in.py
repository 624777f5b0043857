"""Sign in with a password or a link, sign out, and find out who a session belongs to."""

import hashlib
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.render.serve import LimitReached
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.passwords import Passwords, check_strength
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.tenants import activity, sessions, users
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor, Via
from gossamer.state.tenants.limits import Limits
from gossamer.state.tenants.sessions import LinkPurpose, Session, SignInLink
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.state.tenants.users import User

ACCOUNT: Final = "sign-in-account"  # the limit on attempts for one account
TOUCH_MS: Final = 60_000  # how exactly it is known when a session was seen
MAX_SECRET_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session that has just begun, and the secret that goes into its cookie."""

    session: Session
    secret: str = field(repr=False)


class SignIn(Struct, frozen=True):
    database: Database
    limits: Limits
    passwords: Passwords = msgspec.field(default_factory=Passwords)

    async def by_password(self, email: str, password: str, by: Actor) -> OpenedSession:
        """Unknown, disabled and mistaken are answered alike, after the same work."""
        account = email.strip().lower()
        digest = hashlib.sha256(account.encode()).hexdigest()
        (status,) = await self.limits.take([(ACCOUNT, digest)])
        if not status.tally.allowed:
            raise LimitReached(status)
        async with self.database.read() as connection:
            user = await users.find_user(connection, account)
        is_right = await self.passwords.check(password, user.password_hash if user else "")
        if user is None or not is_right or user.disabled_at is not None:
            raise refused()
        await self.limits.give_back(status)
        return await self.open(user, by)

    async def open(self, user: User, by: Actor) -> OpenedSession:
        """A new session of a person who has shown who they are."""
        async with self.database.write() as connection:
            return await _open(connection, user, by)

    async def find_link(self, token: str) -> tuple[SignInLink, User | None]:
        """What a link is for, without using it."""
        async with self.database.read() as connection:
            link = await sessions.find_link(connection, token) if _is_plausible(token) else None
            if link is None:
                raise expired_link()
            return link, await _owner(connection, link)

    async def by_link(self, token: str, password: str, by: Actor) -> OpenedSession:
        """Use a link. Invitations and resets set a password; for a first sign-in it may be left for later."""
        link, user = await self.find_link(token)
        if user is None:
            return await self._open_viewer(link, by)
        wants_password = link.purpose is not LinkPurpose.SIGN_IN
        hashed = ""
        if password or wants_password:
            hashed = await self.passwords.hash(check_strength(password, user.email))
        async with self.database.write() as connection:
            if await sessions.take_link(connection, token) is None:
                raise expired_link()
            if hashed:
                await self._set_password(connection, user, hashed, by)
            return await _open(connection, user, by)

    async def identify(self, secret: str) -> Session | None:
        """The session of this cookie, if it is good."""
        if not _is_plausible(secret):
            return None
        async with self.database.read() as connection:
            session = await sessions.find_session(connection, secret)
        if session is None or (session.user is not None and session.user.disabled_at is not None):
            return None
        return session

    async def touch(self, session: Session, now_ms: int) -> None:
        """Note that a session is in use, once a minute."""
        if now_ms - session.seen_at < TOUCH_MS:
            return
        async with self.database.write() as connection:
            await sessions.touch_session(connection, session.hash)
            if session.user is not None:
                await users.touch_user(connection, session.user.id)

    async def sign_out(self, secret: str, caller: Caller, by: Actor) -> None:
        async with self.database.write() as connection:
            await sessions.end_session(connection, secret)
            entry = ActivityEntry(caller.tenant_id, Action.SESSION_CLOSED, caller.key_id, by)
            await activity.record(connection, entry)

    async def change_password(self, secret: str, user_id: str, old: str, new: str, by: Actor) -> None:
        """Set a new password. All other sessions of the person end."""
        async with self.database.read() as connection:
            user = await users.get_user(connection, user_id)
        if user is None:
            raise Problem(problems.FORBIDDEN, "Only people who have signed in have a password.")
        digest = hashlib.sha256(user.email.encode()).hexdigest()
        (status,) = await self.limits.take([(ACCOUNT, digest)])
        if not status.tally.allowed:
            raise LimitReached(status)
        # Somebody who came by a link or from elsewhere has no password yet.
        if user.password_hash and not await self.passwords.check(old, user.password_hash):
            raise Problem(problems.UNPROCESSABLE_ENTITY, "The present password is not right.")
        await self.limits.give_back(status)
        hashed = await self.passwords.hash(check_strength(new, user.email))
        async with self.database.write() as connection:
            await self._set_password(connection, user, hashed, by, but=sessions.secret_hash(secret))

    async def _set_password(
        self, connection: AsyncConnection, user: User, hashed: str, by: Actor, *, but: str = ""
    ) -> None:
        await users.set_password(connection, user.id, hashed)
        await sessions.end_sessions(connection, user.id, but=but)
        await activity.record(
            connection, ActivityEntry(user.tenant_id, Action.PASSWORD_CHANGED, user.id, _as(user, by))
        )

    async def _open_viewer(self, link: SignInLink, by: Actor) -> OpenedSession:
        secret = sessions.new_secret()
        async with self.database.write() as connection:
            await sessions.add_session(
                connection, secret, tenant_id=link.tenant_id, user_id=None, client=by.client
            )
            return OpenedSession(await _get(connection, secret), secret)


def caller_of(session: Session) -> Caller:
    """What a session may do."""
    user = session.user
    if user is None:
        return Caller(
            Role.VIEWER,
            session.tenant_id,
            session.tenant_id,
            name="usage link",
            via=Via.LINK,
            csrf_secret=session.csrf_secret,
        )
    return person(user, session.csrf_secret)


def person(user: User, csrf_secret: str = "") -> Caller:
    tier = Tier.ENTERPRISE if user.role is Role.ADMIN else Tier.PRO
    return Caller(user.role, user.id, user.tenant_id, tier, user.email, Via.SESSION, csrf_secret)


def refused() -> Problem:
    return Problem(
        problems.UNAUTHORIZED,
        "The email or the password is not right.",
        hint="Ask an admin for a link that sets a new password, or run: gossamer users password EMAIL",
        headers={"WWW-Authenticate": "Bearer"},
    )


def expired_link() -> Problem:
    return Problem(
        problems.NOT_FOUND,
        "This link was used already, or has expired.",
        hint="Ask for a new one. On the machine itself: gossamer users password EMAIL",
    )


async def _open(connection: AsyncConnection, user: User, by: Actor) -> OpenedSession:
    secret = sessions.new_secret()
    await sessions.add_session(
        connection, secret, tenant_id=user.tenant_id, user_id=user.id, client=by.client
    )
    await users.touch_user(connection, user.id)
    entry = ActivityEntry(user.tenant_id, Action.SESSION_OPENED, user.id, _as(user, by))
    await activity.record(connection, entry)
    return OpenedSession(await _get(connection, secret), secret)


async def _get(connection: AsyncConnection, secret: str) -> Session:
    session = await sessions.find_session(connection, secret)
    assert session is not None  # noqa: S101  (it was added in this transaction)
    return session


async def _owner(connection: AsyncConnection, link: SignInLink) -> User | None:
    user = await users.get_user(connection, link.user_id) if link.user_id is not None else None
    if user is not None and user.disabled_at is not None:
        raise expired_link()
    return user


def _as(user: User, by: Actor) -> Actor:
    return Actor(user.id, user.email, Via.SESSION, by.client, by.request_id)


def _is_plausible(secret: str) -> bool:
    return 0 < len(secret) <= MAX_SECRET_CHARS and secret.isascii() and secret.isprintable()
