"""The registry: callers manage their webhook endpoints, and look at what was delivered."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quotas
from gossamer.flows.webhooks.sending import WebhookSender
from gossamer.flows.webhooks.subscribing import judge
from gossamer.flows.webhooks.webhook_keys import WebhookKeys, new_secret, owner_of
from gossamer.problems import Problem
from gossamer.reach.net.dial import Dialer
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role
from gossamer.state.webhooks import deliveries, delivery_log, endpoints
from gossamer.state.webhooks.deliveries import NewDelivery
from gossamer.state.webhooks.delivery_log import DeliveryFilter, LoggedDelivery
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.web.url.url import Url
from gossamer.web.webhooks.attempt import DisabledReason
from gossamer.web.webhooks.endpoint import NewWebhook, SecretRotation, WebhookChange
from gossamer.web.webhooks.event_type import EventType

_HEALTHY: Final = {"failures": 0, "failing_since": None, "held_until": None}


class IssuedWebhook(Struct, frozen=True):
    """An endpoint, and the secret that its events are signed with from now on."""

    endpoint: WebhookEndpoint
    secret: str


class WebhookRegistry(Struct, frozen=True):
    database: Database
    dialer: Dialer
    keys: WebhookKeys
    quotas: Quotas
    sender: WebhookSender

    @asynccontextmanager
    async def creating(
        self, new: NewWebhook, caller: Caller, by: Actor
    ) -> AsyncIterator[tuple[AsyncConnection, IssuedWebhook]]:
        """Raises `Problem` for a webhook that cannot be sent, or one too many."""
        new.check()
        judge(self.dialer, new.url)
        owner, secret = owner_of(caller), new_secret()
        endpoint = WebhookEndpoint(
            tenant_id=caller.tenant_id,
            owner=owner,
            url=new.url,
            events=new.events,
            for_operators=caller.role is Role.ADMIN,
            description=new.description,
            headers_sealed=await self.keys.seal(owner, new.headers),
            secret_sealed=await self.keys.seal_secret(owner, secret),
        )
        async with self.database.write() as connection:
            await self.quotas.reserve_webhook(connection, caller)
            await endpoints.add(connection, endpoint)
            await _record(connection, Action.WEBHOOK_ADDED, endpoint, by)
            stored = await endpoints.get(connection, endpoint.id)
            yield connection, IssuedWebhook(stored or endpoint, secret)

    @asynccontextmanager
    async def rotating(
        self, endpoint_id: str, rotation: SecretRotation, caller: Caller, by: Actor
    ) -> AsyncIterator[tuple[AsyncConnection, IssuedWebhook]]:
        """The old secret signs too for a while. One that was still old then signs no more."""
        endpoint = await self.get(endpoint_id, caller)
        secret = new_secret()
        sealed = await self.keys.seal_secret(endpoint.owner, secret)
        async with self.database.write() as connection:
            until = clock() + rotation.old_secret_seconds * 1000
            keeps = rotation.old_secret_seconds > 0
            values = {
                "secret_sealed": sealed,
                "old_secret_sealed": endpoint.secret_sealed if keeps else None,
                "old_secret_until": until if keeps else None,
            }
            await endpoints.change(connection, endpoint.id, values)
            await _record(connection, Action.WEBHOOK_ROTATED, endpoint, by)
            changed = await endpoints.get(connection, endpoint.id)
            yield connection, IssuedWebhook(changed or endpoint, secret)

    async def change(
        self, endpoint_id: str, change: WebhookChange, caller: Caller, by: Actor
    ) -> WebhookEndpoint:
        change.check()
        endpoint = await self.get(endpoint_id, caller)
        values: dict[str, Any] = {}
        if change.url is not UNSET:
            judge(self.dialer, change.url)
            values["url"] = change.url
        if change.events is not UNSET:
            values["events"] = ",".join(change.events)
        if change.description is not UNSET:
            values["description"] = change.description
        if change.headers is not UNSET:
            values["headers_sealed"] = await self.keys.seal(endpoint.owner, change.headers)
        async with self.database.write() as connection:
            values |= await _switch(connection, endpoint, change)
            if values:
                await endpoints.change(connection, endpoint.id, values)
                await _record(connection, Action.WEBHOOK_CHANGED, endpoint, by, ", ".join(sorted(values)))
            return await endpoints.get(connection, endpoint.id) or endpoint

    async def remove(self, endpoint_id: str, caller: Caller, by: Actor) -> None:
        endpoint = await self.get(endpoint_id, caller)
        async with self.database.write() as connection:
            await endpoints.remove(connection, [endpoint.id])
            await _record(connection, Action.WEBHOOK_REMOVED, endpoint, by)

    async def get(self, endpoint_id: str, caller: Caller) -> WebhookEndpoint:
        """An endpoint of the caller's own; admins see all."""
        async with self.database.read() as connection:
            found = await endpoints.get(connection, endpoint_id)
        if found is None or found.work_id is not None or not _may_see(caller, found.owner):
            raise Problem(problems.NOT_FOUND, "There is no webhook with this id.")
        return found

    async def list_page(
        self, caller: Caller, *, cursor: str | None, limit: int
    ) -> tuple[list[WebhookEndpoint], str | None]:
        """Admins see all. The cursor of the next page, if there is one."""
        owner = None if caller.role is Role.ADMIN else owner_of(caller)
        async with self.database.read() as connection:
            found = await endpoints.list_registered(connection, owner, before=cursor, limit=limit + 1)
        return found[:limit], found[limit - 1].id if len(found) > limit else None

    async def secret_of(self, endpoint_id: str, caller: Caller) -> str:
        endpoint = await self.get(endpoint_id, caller)
        if endpoint.secret_sealed is None:
            return await self.keys.secret_of(endpoint.owner)
        return await self.keys.open_secret(endpoint.owner, endpoint.secret_sealed)

    async def header_names(self, endpoint: WebhookEndpoint) -> tuple[str, ...]:
        return tuple(await self.keys.open(endpoint.owner, endpoint.headers_sealed))

    async def test(self, endpoint_id: str, caller: Caller) -> LoggedDelivery:
        """Send an event now, once, and return what became of it. Works for one that is disabled, too."""
        endpoint = await self.get(endpoint_id, caller)
        new = NewDelivery(
            sender=endpoint.id,
            event=EventType.WEBHOOK_TEST,
            body='{"message":"This is a test."}',
            owner=endpoint.owner,
            subject=endpoint.id,
        )
        async with self.database.write() as connection:
            taken = await deliveries.queue_taken(connection, new)
        made = await self.sender.send(taken, though_disabled=True)
        async with self.database.write() as connection:
            await deliveries.end_attempt(connection, taken, made, is_last=True)
            logged = await delivery_log.get(connection, taken.id)
        if logged is None:
            raise _unknown_delivery()
        return logged

    async def list_deliveries(
        self, which: DeliveryFilter, caller: Caller, *, cursor: str | None, limit: int
    ) -> tuple[list[LoggedDelivery], str | None]:
        if which.endpoint_id is not None:
            await self.get(which.endpoint_id, caller)
        elif caller.role is not Role.ADMIN:
            which = replace(which, owner=owner_of(caller))
        async with self.database.read() as connection:
            found = await delivery_log.list_deliveries(connection, which, before=cursor, limit=limit + 1)
        return found[:limit], found[limit - 1].id if len(found) > limit else None

    async def show_delivery(
        self, endpoint_id: str, delivery_id: str, caller: Caller
    ) -> tuple[LoggedDelivery, str | None]:
        """With the body, as it is sent now."""
        endpoint = await self.get(endpoint_id, caller)
        async with self.database.read() as connection:
            logged = await delivery_log.get(connection, delivery_id)
            contents = await delivery_log.get_contents(connection, delivery_id)
        if logged is None or contents is None or logged.endpoint_id != endpoint.id:
            raise _unknown_delivery()
        return logged, await self.sender.composer.encode(contents, endpoint)

    async def resend(self, endpoint_id: str, delivery_id: str, caller: Caller) -> LoggedDelivery:
        """Send one again, under the same id. One that waits is sent anyway."""
        endpoint = await self._get_enabled(endpoint_id, caller)
        async with self.database.write() as connection:
            logged = await delivery_log.get(connection, delivery_id)
            if logged is None or logged.endpoint_id != endpoint.id:
                raise _unknown_delivery()
            await delivery_log.resend(connection, delivery_id)
            return await delivery_log.get(connection, delivery_id) or logged

    async def resend_given_up(self, endpoint_id: str, since: int, caller: Caller) -> int:
        endpoint = await self._get_enabled(endpoint_id, caller)
        async with self.database.write() as connection:
            return await delivery_log.resend_given_up(connection, endpoint.id, since)

    async def _get_enabled(self, endpoint_id: str, caller: Caller) -> WebhookEndpoint:
        endpoint = await self.get(endpoint_id, caller)
        if endpoint.disabled_at is not None:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "This webhook is disabled, so nothing can be sent to it.",
                hint="Enable it first: PATCH it with `enabled: true`.",
                details={"field": "enabled", "reason": "disabled"},
            )
        return endpoint


async def _switch(
    connection: AsyncConnection, endpoint: WebhookEndpoint, change: WebhookChange
) -> dict[str, Any]:
    if change.enabled is UNSET or change.enabled == (endpoint.disabled_at is None):
        return {}
    if change.enabled:
        return {"disabled_at": None, "disabled_reason": None, **_HEALTHY}
    await deliveries.give_up_waiting(connection, endpoint.id)
    return {"disabled_at": clock(), "disabled_reason": DisabledReason.ASKED.value}


async def _record(
    connection: AsyncConnection, action: Action, endpoint: WebhookEndpoint, by: Actor, detail: str = ""
) -> None:
    # The address may hold a secret, so the log names its host alone.
    entry = ActivityEntry(endpoint.tenant_id, action, endpoint.id, by, detail or Url.parse(endpoint.url).host)
    await activity.record(connection, entry)


def _may_see(caller: Caller, owner: str) -> bool:
    return caller.role is Role.ADMIN or owner == owner_of(caller)


def _unknown_delivery() -> Problem:
    return Problem(problems.NOT_FOUND, "There is no delivery with this id.")
