"""The pages about API keys: admins manage all, everybody else those of their own tenant."""

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.keys import (
    KeyQuery,
    KeysEndpoints,
    OwnKeyQuery,
    ShownKey,
    to_api,
    to_created,
)
from gossamer.doors.http.api.admin.own_keys import OwnKeysEndpoints
from gossamer.doors.http.api.admin.usage import UsageEndpoints, UsageQuery
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.flows.tenants.keys import IssuedKey, NewKey, NewOwnKey
from gossamer.problems import validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.tenants.tenants import Role, Tier

_HERE: Final = "keys"
_LIST: Final = "/app/keys"
_NEW: Final = "/app/keys/new"
_ONE: Final = "/app/keys/{id}"
LASTING: Final = (
    ("", "until it is disabled"),
    ("1", "a day"),
    ("7", "7 days"),
    ("30", "30 days"),
    ("90", "90 days"),
    ("365", "a year"),
)
TIERS: Final = tuple((tier.value, tier.value) for tier in Tier)

Issuing = AbstractAsyncContextManager[tuple[AsyncConnection, IssuedKey]]


class KeysView(msgspec.Struct):
    """Which keys to show."""

    email: str = ""
    cursor: str = ""


class NewKeyView(msgspec.Struct):
    """What the form for a new key proposes."""

    email: str = ""


class KeysPages(Struct, frozen=True):
    dashboard: Dashboard
    endpoints: KeysEndpoints
    own: OwnKeysEndpoints
    usage: UsageEndpoints

    async def show(self, exchange: Exchange, query: KeysView) -> Response:
        chosen = filters(query)
        if _is_admin(exchange):
            found = await self.endpoints.list_keys(exchange, chosen.to(KeyQuery))
        else:
            found = await self.own.list_own_keys(exchange, Form({"cursor": query.cursor}).to(OwnKeyQuery))
        now = timestamps.now()
        return self.dashboard.render(
            exchange,
            "account/keys.html",
            here=_HERE,
            keys=[(key, state_of(key, now)) for key in found.keys],
            chosen=chosen,
            is_admin=_is_admin(exchange),
            **list_links(_LIST, chosen, found.next_cursor),
        )

    async def show_new(self, exchange: Exchange, query: NewKeyView, form: Form = NO_FORM) -> Response:
        return self.dashboard.render(
            exchange,
            "account/new_key.html",
            here=_HERE,
            form=form,
            email=query.email,
            tiers=TIERS,
            lasting=LASTING,
            is_admin=_is_admin(exchange),
        )

    async def show_new_again(self, exchange: Exchange, form: Form) -> Response:
        return await self.show_new(exchange, NewKeyView(), form)

    async def create(self, exchange: Exchange, form: Form) -> Response:
        end = _end(form["lasting"])
        if _is_admin(exchange):
            new = _only(form, "email", "label", "tier", "role").to(NewKey, expiresAt=end)
            creating = self.endpoints.keys.creating(new, exchange.actor)
        else:
            mine = _only(form, "label").to(NewOwnKey, expiresAt=end)
            creating = self.own.own_keys.creating(mine, exchange.caller, exchange.actor)
        return await self._issue(exchange, creating, replaces="")

    async def show_one(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        key = to_api(await self.own.own_keys.get(id, exchange.caller))
        return self.dashboard.render(
            exchange,
            "account/key.html",
            here=_HERE,
            form=form,
            key=key,
            state=state_of(key, timestamps.now()),
            usage=await self.usage.get_usage(exchange, UsageQuery(key=id)),
            is_admin=_is_admin(exchange),
        )

    async def rotate(self, exchange: Exchange, form: Form, id: str) -> Response:
        old = await self.own.own_keys.get(id, exchange.caller)
        if _is_admin(exchange):
            rotating = self.endpoints.keys.rotating(id, exchange.actor)
        else:
            rotating = self.own.own_keys.rotating(id, exchange.caller, exchange.actor)
        return await self._issue(exchange, rotating, replaces=old.prefix)

    async def disable(self, exchange: Exchange, form: Form, id: str) -> Response:
        if _is_admin(exchange):
            await self.endpoints.disable_key(exchange, id)
        else:
            await self.own.disable_own_key(exchange, id)
        return self.dashboard.see(_ONE.format(id=id), notice="key-disabled")

    async def _issue(self, exchange: Exchange, issuing: Issuing, *, replaces: str) -> Response:
        """The one page that shows the secret. It is remembered with the key, so a repeat shows it again."""
        async with issuing as (connection, issued):
            page = self.dashboard.render(
                exchange,
                "account/issued_key.html",
                here=_HERE,
                key=to_created(issued),
                replaces=replaces,
            )
            await exchange.remember(connection, page)
        return page

    def routes(self) -> list[Route]:
        page, form, one = self.dashboard.page, self.dashboard.form, self.show_one
        return [
            page(_LIST, self.show, "Keys"),
            page(_NEW, self.show_new, "A new key"),
            form(_NEW, self.create, "Create a key", show=self.show_new_again),
            page(_ONE, one, "A key"),
            form(f"{_ONE}/rotate", self.rotate, "Replace a key with a new one", show=one),
            form(f"{_ONE}/disable", self.disable, "Disable a key", show=one),
        ]


def state_of(key: ShownKey, now: str) -> str:
    """`now` in the form of the API's times, which sort as texts."""
    if key.disabled_at is not None:
        return "disabled"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "active"


def _is_admin(exchange: Exchange) -> bool:
    return exchange.caller.role is Role.ADMIN


def _only(form: Form, *names: str) -> Form:
    return Form({name: form[name] for name in names})


def _end(days: str) -> datetime | None:
    if not any(days == choice for choice, _ in LASTING):
        raise validation_error("A key cannot last this long.", hint="Choose one of the times in the list.")
    return datetime.now(UTC) + timedelta(days=int(days)) if days else None
