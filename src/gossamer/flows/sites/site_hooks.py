"""Incoming webhooks: a site's own system says which pages have changed, and they are rendered again.

The address has a token, of which only the hash is kept. A message may have to be signed, too. A message with
an id is taken once. The renders count in the site's budget of the day, with the rights of whoever made the
webhook.
"""

import hashlib
import hmac
import secrets
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.schedules.makers import find_caller, maker_of
from gossamer.flows.sites.site_keeper import SiteKeeper
from gossamer.flows.sites.site_warmer import SiteWarmer, SiteWarmPayload
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.webhooks.signing import sign
from gossamer.flows.webhooks.webhook_keys import WebhookKeys, new_secret
from gossamer.problems import Problem, validation_error
from gossamer.state.db.database import Database
from gossamer.state.schedules.schedules import ScheduleMaker, read_clock
from gossamer.state.sites import hooks, sites
from gossamer.state.sites.hooks import SiteHook
from gossamer.state.sites.sites import RegisteredSite
from gossamer.state.tenants import activity, once
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor, Via
from gossamer.state.tenants.limits import Limits, limit_problem
from gossamer.web.sites.changed_pages import find_changed
from gossamer.web.sites.hook_answer import HookRequest, HookTaken
from gossamer.web.url.url import digest

POLICY: Final = "site-hook"
TOLERANCE: Final = 300  # seconds by which the time of a signature may be off
REMEMBERED: Final = 86_400  # seconds for which the id of a message is known
MAX_DELIVERY_CHARS: Final = 200
MAX_SIGNATURES: Final = 10  # of one message
_taken: Final = msgspec.json.Decoder(HookTaken)


class HookMessage(NamedTuple):
    """What has arrived."""

    body: bytes
    content_type: str
    delivery: str  # its id; empty: it has none
    timestamp: str
    signature: str
    client: str  # the address that it came from
    request_id: str


class HookWay(NamedTuple):
    """An address that works, with the secret that must sign what comes there; None: none must."""

    secret_sealed: bytes | None


class IssuedHook(NamedTuple):
    hook: SiteHook
    token: str
    secret: str | None


class SiteHooks(Struct, frozen=True):
    database: Database
    keeper: SiteKeeper
    warmer: SiteWarmer
    keys: WebhookKeys
    limits: Limits

    async def make(self, caller: Caller, site_id: str, wanted: HookRequest, by: Actor) -> IssuedHook:
        """A new address, and a new secret if messages are signed."""
        site = await self.keeper.get(caller, site_id, proven=True)
        if caller.tenant_id != site.tenant_id:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "This site is another tenant's; its webhook would get the rights of your key.",
                hint="Use a key of that tenant.",
            )
        token, maker = secrets.token_urlsafe(32), maker_of(caller)
        secret = new_secret() if wanted.signed else None
        hook = SiteHook(
            site_id=site.id,
            tenant_id=site.tenant_id,
            token_hash=_hash(token),
            secret_sealed=None if secret is None else await self.keys.seal_secret(site.owner, secret),
            maker_via=maker.via.value,
            maker_id=maker.id,
            maker_name=maker.name,
        )
        async with self.database.write() as connection:
            await hooks.put(connection, hook, old_seconds=wanted.old_seconds)
            entry = ActivityEntry(site.tenant_id, Action.SITE_HOOK_MADE, site.id, by, site.origin)
            await activity.record(connection, entry)
            made = await hooks.get(connection, site.id) or hook
        return IssuedHook(made, token, secret)

    async def show(self, caller: Caller, site_id: str) -> SiteHook | None:
        site = await self.keeper.get(caller, site_id)
        async with self.database.read() as connection:
            return await hooks.get(connection, site.id)

    async def remove(self, caller: Caller, site_id: str, by: Actor) -> None:
        site = await self.keeper.get(caller, site_id)
        async with self.database.write() as connection:
            if await hooks.remove(connection, site.id):
                entry = ActivityEntry(site.tenant_id, Action.SITE_HOOK_REMOVED, site.id, by, site.origin)
                await activity.record(connection, entry)

    async def receive(self, site_id: str, token: str, message: HookMessage) -> HookTaken:
        """Raises `Problem` for a message that is not genuine, or comes too often."""
        await self._count(f"address:{message.client}")
        async with self.database.read() as connection:
            hook = await hooks.get(connection, site_id)
            site = await sites.get(connection, site_id)
            now = await read_clock(connection)
        way = None if hook is None else _find_way(hook, token, now)
        if hook is None or way is None or site is None or not site.is_proven:
            raise Problem(problems.NOT_FOUND, "There is no webhook at this address.")
        await self._count(site.id)
        await self._verify(site, way, message, now)
        changed = find_changed(message.body, message.content_type, site.origin)
        taken = HookTaken(pages=len(changed.urls), ignored=changed.ignored)
        return await self._take(site, hook, message, changed.urls, taken)

    async def _take(
        self,
        site: RegisteredSite,
        hook: SiteHook,
        message: HookMessage,
        urls: tuple[str, ...],
        taken: HookTaken,
    ) -> HookTaken:
        """Queue the renders, once for each id of a message."""
        async with self.database.read() as connection:
            maker = ScheduleMaker(Via(hook.maker_via), hook.maker_id, hook.maker_name)
            caller = await find_caller(connection, maker, site.tenant_id)
        if not isinstance(caller, Caller):
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "Whoever made this webhook may not use this server any more.",
                hint="Make the webhook again, with a key that works.",
                details={"reason": caller.value},
            )
        if urls:
            await self.warmer.admit(caller)
        payload = SiteWarmPayload(
            site_id=site.id, key_id=caller.key_id, tier=caller.tier.value, urls=urls, is_budgeted=True
        )
        by = Actor("webhook", caller.name, caller.via, message.client, message.request_id)
        try:
            async with self.database.write() as connection:
                if urls:
                    await self.warmer.put(connection, site, payload, by)
                await hooks.note_use(connection, site.id)
                if message.delivery:
                    scope = digest(f"site-hook\n{site.id}\n{message.delivery}")
                    body = hashlib.sha256(message.body).hexdigest()
                    await once.remember(
                        connection, scope, body, msgspec.json.encode(taken), ttl_seconds=REMEMBERED
                    )
        except once.AlreadyDone as done:
            return msgspec.structs.replace(_taken.decode(done.answer), repeated=True)
        if urls:
            self.warmer.wake()
        return taken

    async def _count(self, subject: str) -> None:
        status = (await self.limits.take([(POLICY, subject)]))[0]
        if not status.tally.allowed:
            raise limit_problem(status, None)

    async def _verify(self, site: RegisteredSite, way: HookWay, message: HookMessage, now: int) -> None:
        """Raises `Problem` unless the message is signed, where it must be."""
        if way.secret_sealed is None:
            return
        secret = await self.keys.open_secret(site.owner, way.secret_sealed)
        if not is_signed(message, secret, now // 1000):
            raise Problem(
                problems.UNAUTHORIZED,
                "The message is not signed, or its signature is not right.",
                hint="Sign it as Standard Webhooks say, with the secret of this webhook.",
                details={"reason": "bad_signature"},
            )


def is_signed(message: HookMessage, secret: str, now: int) -> bool:
    """Whether the secret signs the message, at about this time (Unix seconds)."""
    if not message.delivery or not message.timestamp.isascii() or not message.timestamp.isdecimal():
        return False
    if abs(int(message.timestamp[:15]) - now) > TOLERANCE:
        return False
    try:
        body = message.body.decode()
    except UnicodeDecodeError:
        raise validation_error("A message that is signed must be UTF-8.") from None
    expected = sign(secret, message.delivery, int(message.timestamp[:15]), body).encode()
    given = message.signature.split(" ")[:MAX_SIGNATURES]
    return any(hmac.compare_digest(expected, one.encode("utf-8", "replace")) for one in given)


def _find_way(hook: SiteHook, token: str, now: int) -> HookWay | None:
    """The address that the token belongs to: the present one, or the one before while it is valid."""
    given = _hash(token)
    if hmac.compare_digest(given, hook.token_hash):
        return HookWay(hook.secret_sealed)
    if hook.old_token_hash is None or now >= (hook.old_until or 0):
        return None
    return HookWay(hook.old_secret_sealed) if hmac.compare_digest(given, hook.old_token_hash) else None


def _hash(token: str) -> str:
    return digest(f"site-hook\n{token}")
