"""Endpoints to sign in and out, to change a password, and to see who one is."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.layers.limiting import within_limits
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.sign_in import OpenedSession, SignIn, caller_of
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import Role, Tier

_EXAMPLE_ID = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class Credentials(msgspec.Struct, forbid_unknown_fields=True):
    """Who signs in."""

    email: Annotated[str, Meta(max_length=254)]
    password: Annotated[str, Meta(max_length=1_000)]


class RedeemedLink(msgspec.Struct, forbid_unknown_fields=True):
    """A link that signs somebody in once."""

    token: Annotated[str, Meta(max_length=200, description="The part of the link after `token=`.")]
    password: Annotated[
        str, Meta(max_length=1_000, description="The new password; only a first sign-in may leave it out.")
    ] = ""


class NewPassword(msgspec.Struct, forbid_unknown_fields=True):
    """A new password in the place of the present one."""

    new: Annotated[str, Meta(max_length=1_000, description="At least 10 characters.")]
    old: Annotated[str, Meta(max_length=1_000, description="Empty if there is none yet.")] = ""


class Me(msgspec.Struct, rename="camel", omit_defaults=True):
    """The caller, as Gossamer sees it."""

    key_id: Annotated[str, Meta(description="The id of the key, or of the person.")]
    tenant_id: str
    prefix: Annotated[str, Meta(description="The key's beginning, or the person's email.")]
    role: Role
    tier: Tier
    via: Annotated[Via, Meta(description="How the caller has shown who it is.")]
    csrf_token: Annotated[
        str | None,
        Meta(description="Of a session: send it as X-CSRF-Token with requests that change something."),
    ] = None


class SignedOut(msgspec.Struct, rename="camel"):
    """The session has ended."""

    signed_out: bool = True


class PasswordChanged(msgspec.Struct, rename="camel"):
    """The password is set; all other sessions have ended."""

    changed: bool = True


class SignInEndpoints(Struct, frozen=True):
    sign_in: SignIn
    cookie: SessionCookie
    upgrade_url: str

    async def login(self, exchange: Exchange, body: Credentials) -> Response:
        opening = self.sign_in.by_password(body.email, body.password, exchange.actor)
        return self._answer(await within_limits(exchange, self.upgrade_url or None, opening))

    async def redeem(self, exchange: Exchange, body: RedeemedLink) -> Response:
        return self._answer(await self.sign_in.by_link(body.token, body.password, exchange.actor))

    async def logout(self, exchange: Exchange) -> Response:
        if exchange.caller.csrf_secret:
            await self.sign_in.sign_out(exchange.secret, exchange.caller, exchange.actor)
        return answer(SignedOut(), headers={"Set-Cookie": self.cookie.clearing_header()})

    async def password(self, exchange: Exchange, body: NewPassword) -> PasswordChanged:
        changing = self.sign_in.change_password(
            exchange.secret, exchange.caller.key_id, body.old, body.new, exchange.actor
        )
        await within_limits(exchange, self.upgrade_url or None, changing)
        return PasswordChanged()

    async def me(self, exchange: Exchange) -> Me:
        return _me(exchange.caller)

    def _answer(self, opened: OpenedSession) -> Response:
        headers = {"Set-Cookie": self.cookie.header(opened.secret), "Cache-Control": "no-store"}
        return answer(_me(caller_of(opened.session)), headers=headers)

    def routes(self) -> list[Route]:
        signing: dict[str, Any] = {
            "method": "POST",
            "needs": Role.NOBODY,
            "tag": "People",
            "policies": ("sign-in",),
            "idempotent": False,  # a replay would hand out the same cookie again
            "answers": Me,
            "example": _EXAMPLE_SESSION,
            "headers": {"Set-Cookie": "The session: HttpOnly, SameSite=Strict, valid for 24 hours."},
        }
        return [
            Route(
                path="/api/auth/login",
                handler=self.login,
                summary="Sign in with a password",
                description="The answer sets the cookie of a session and contains its CSRF token. An unknown "
                "email and a wrong password are answered alike.",
                problems=(problems.UNAUTHORIZED,),
                example_body=Credentials("you@example.com", "several words in a row"),
                **signing,
            ),
            Route(
                path="/api/auth/link",
                handler=self.redeem,
                summary="Sign in with a link",
                description="Invitations and resets set a password. A link works once; one that shows usage "
                "works until it expires.",
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                example_body=RedeemedLink("dGhpcyBpcyBvbmx5IGFuIGV4YW1wbGU", "several words in a row"),
                **signing,
            ),
            Route(
                method="POST",
                path="/api/auth/logout",
                handler=self.logout,
                needs=Role.VIEWER,
                tag="People",
                summary="Sign out",
                control=True,
                idempotent=False,
                answers=SignedOut,
                example=SignedOut(),
            ),
            Route(
                method="POST",
                path="/api/auth/password",
                handler=self.password,
                needs=Role.USER,
                tag="People",
                summary="Change your password",
                description="All your other sessions end.",
                control=True,
                idempotent=False,
                problems=(problems.UNPROCESSABLE_ENTITY,),
                example_body=NewPassword("other words in a row", "several words in a row"),
                example=PasswordChanged(),
            ),
            Route(
                method="GET",
                path="/api/me",
                handler=self.me,
                needs=Role.VIEWER,
                tag="Keys",
                summary="Get who you are and what you may do",
                example=Me(_EXAMPLE_ID, _EXAMPLE_ID, "sk_live_Zk3Vq9x...", Role.USER, Tier.PRO, Via.KEY),
            ),
        ]


def _me(caller: Caller) -> Me:
    return Me(
        caller.key_id,
        caller.tenant_id,
        caller.name,
        caller.role,
        caller.tier,
        caller.via,
        caller.csrf_secret or None,
    )


_EXAMPLE_SESSION = Me(
    _EXAMPLE_ID, _EXAMPLE_ID, "you@example.com", Role.ADMIN, Tier.ENTERPRISE, Via.SESSION, "q1w2e3r4t5z6u7i8"
)
