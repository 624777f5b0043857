"""Single sign-on: people show who they are at an OpenID Connect provider, and come back with a session."""

import hmac
from typing import Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.tenants.people import People
from gossamer.flows.tenants.sign_in import OpenedSession, SignIn
from gossamer.problems import Problem
from gossamer.reach.services.oidc import OidcIdentity, OidcProvider, OidcRefused
from gossamer.state.kv.hot import Hot
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.sessions import new_secret, secret_hash
from gossamer.state.tenants.tenants import Role
from gossamer.state.tenants.users import User

WAY_SECONDS: Final = 600  # to sign in at the provider and come back
_HINT: Final = "Start again from the sign-in page. If it happens again, ask an admin."


class _Journey(msgspec.Struct, array_like=True):
    """What is remembered while somebody is at the provider."""

    nonce: str
    verifier: str
    next: str


class Departure(Struct, frozen=True):
    """Where to send the browser, and what binds the way back to it."""

    address: str
    state: str


class SingleSignOn(Struct, frozen=True):
    name: str  # of the provider, as people know it
    provider: OidcProvider
    people: People
    sign_in: SignIn
    hot: Hot
    domains: tuple[str, ...]  # whose people may come without an invitation

    async def start(self, next_path: str) -> Departure:
        state, journey = new_secret(), _Journey(new_secret(), new_secret() + new_secret(), next_path)
        address = await self.provider.address(state=state, nonce=journey.nonce, verifier=journey.verifier)
        await self.hot.put(_record(state), msgspec.msgpack.encode(journey), WAY_SECONDS)
        return Departure(address, state)

    async def finish(self, code: str, state: str, bound: str, by: Actor) -> tuple[OpenedSession, str]:
        """Open a session for the person who has come back. `bound` is the state in the browser's cookie."""
        if not state or not hmac.compare_digest(state.encode(), bound.encode()):
            raise _refuse("The way back from the provider began in another browser.")
        kept = await self.hot.get(_record(state))
        if kept is None or not await self.hot.drop(_record(state)):
            raise _refuse("This way back was used already, or has expired.")
        journey = msgspec.msgpack.decode(kept, type=_Journey)
        try:
            identity = await self.provider.identify(code, nonce=journey.nonce, verifier=journey.verifier)
        except OidcRefused as refused:
            raise _refuse(f"The provider did not show who you are: {refused}.") from None
        return await self.sign_in.open(await self._admit(identity, by), by), journey.next

    async def _admit(self, identity: OidcIdentity, by: Actor) -> User:
        """The person, if we know them or their domain is welcome."""
        domain = identity.email.lower().rpartition("@")[2]
        if not identity.is_verified:
            raise _refuse("The provider has not verified your email.")
        if domain in self.domains:
            user = await self.people.ensure(identity.email, Role.USER, by)
        else:
            try:
                user = await self.people.find(identity.email)
            except Problem:
                raise _refuse("Nobody with this email may sign in here.") from None
        if user.disabled_at is not None:
            raise _refuse("Nobody with this email may sign in here.")
        return user


def _refuse(detail: str) -> Problem:
    return Problem(problems.FORBIDDEN, detail, hint=_HINT)


def _record(state: str) -> str:
    return f"oidc:{secret_hash(state)}"
