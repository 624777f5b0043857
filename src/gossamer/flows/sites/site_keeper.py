"""Registers sites, proves them, and keeps their settings."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from msgspec import UNSET, Struct

from gossamer import problems
from gossamer.flows.schedules.makers import maker_of
from gossamer.flows.schedules.schedule_keeper import ScheduleKeeper
from gossamer.flows.sites.proving import SiteProver
from gossamer.flows.sites.site_directory import SiteDirectory
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quotas
from gossamer.flows.webhooks.webhook_keys import owner_of
from gossamer.observe.logs import Log
from gossamer.problems import Problem, validation_error
from gossamer.reach.net.dial import Dialer
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.schedules import schedules
from gossamer.state.schedules.schedules import NewSchedule, Schedule
from gossamer.state.sites import sites
from gossamer.state.sites.sites import RegisteredSite
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role
from gossamer.state.webhooks.publishing import WebhookEvent, publish
from gossamer.web.schedules.schedule_words import ScheduleKind
from gossamer.web.sites.site_answer import ProofCheck, SiteChange, SiteRequest
from gossamer.web.sites.site_settings import SiteSettings
from gossamer.web.sites.site_words import ProofFinding, ProofMethod
from gossamer.web.url.url import Url
from gossamer.web.webhooks.event_type import EventType

RECHECK_MS: Final = 7 * 86_400_000  # after which the proof of a site is looked for again
RETRY_MS: Final = 86_400_000  # the same after it was not found
BY_UPKEEP: Final = Actor("upkeep")


class NewSite(NamedTuple):
    site: RegisteredSite
    schedule_id: str | None  # of its warm-up


RememberSite = Callable[[AsyncConnection, NewSite], Awaitable[None]]


class SiteKeeper(Struct, frozen=True):
    database: Database
    dialer: Dialer
    prover: SiteProver
    directory: SiteDirectory
    quotas: Quotas
    schedule_keeper: ScheduleKeeper
    log: Log

    async def register(
        self, caller: Caller, request: SiteRequest, by: Actor, remember: RememberSite
    ) -> NewSite:
        origin = self._origin(request.origin)
        self._check(request.settings, origin)
        owner = owner_of(caller)
        async with self.database.write() as connection:
            await self.quotas.reserve_site(connection, caller)
            site = await sites.add(
                connection,
                tenant_id=caller.tenant_id,
                owner=owner,
                origin=origin,
                name=request.name,
                token=secrets.token_hex(16),
                settings=request.settings,
                proof=ProofMethod.ADMIN if caller.role is Role.ADMIN else None,
            )
            if site is None:
                raise Problem(
                    problems.UNPROCESSABLE_ENTITY,
                    f"{origin} is registered already.",
                    hint="Change that site instead.",
                    details={"reason": "registered", "field": "origin"},
                )
            new = NewSite(site, await self._plan_warm_up(connection, caller, site))
            await _record(connection, site, Action.SITE_REGISTERED, by, origin)
            await remember(connection, new)
        self.directory.forget(owner)
        return new

    async def list_sites(self, caller: Caller, *, before: str | None, limit: int) -> list[RegisteredSite]:
        owner = None if caller.role is Role.ADMIN else owner_of(caller)
        async with self.database.read() as connection:
            return await sites.listing(connection, owner=owner, before=before, limit=limit)

    async def get(self, caller: Caller, site_id: str, *, proven: bool = False) -> RegisteredSite:
        """Raises `Problem` if the caller may not see it, or if it is not `proven`."""
        async with self.database.read() as connection:
            site = _seen(caller, await sites.get(connection, site_id))
        if proven and not site.is_proven:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                f"Nobody has proven yet that {site.origin} is yours.",
                hint=f"Follow one of `proofSteps`, and then POST /api/sites/{site.id}/proof.",
                details={"reason": "unproven"},
            )
        return site

    async def warm_up_of(self, site: RegisteredSite) -> Schedule | None:
        async with self.database.read() as connection:
            return await schedules.of_subject(connection, ScheduleKind.WARM_UP, site.id)

    async def change(self, caller: Caller, site_id: str, change: SiteChange, by: Actor) -> None:
        known = await self.get(caller, site_id)
        settings = None if change.settings is UNSET else change.settings
        if settings is not None:
            self._check(settings, known.origin)
        async with self.database.write() as connection:
            site = _seen(caller, await sites.get(connection, site_id, lock=True))
            name = None if change.name is UNSET else change.name
            await sites.change(connection, site_id, name=name, settings=settings)
            if settings is not None and settings.warm_up != site.settings.warm_up:
                changed = _seen(caller, await sites.get(connection, site_id))
                await self._plan_warm_up(connection, caller, changed)
            await _record(connection, site, Action.SITE_CHANGED, by)
        self.directory.forget(known.owner)

    async def prove(
        self, caller: Caller, site_id: str, method: ProofMethod | None, by: Actor
    ) -> list[ProofCheck]:
        """Look for the proof now. An admin's own site needs none."""
        site = await self.get(caller, site_id)
        checks = await self.prover.look(site.tenant_id, site.origin, site.token, method)
        await self._note(site, checks, by)
        return checks

    async def recheck_due(self, *, now: int | None = None) -> int:
        """Look for the proofs of sites again that were proven long ago; returns how many."""
        async with self.database.write(quiet=True) as connection:
            due = await sites.take_due(connection, age_ms=RECHECK_MS, retry_ms=RETRY_MS, now=now)
        for site in due:
            checks = await self.prover.look(site.tenant_id, site.origin, site.token)
            await self._note(site, checks, BY_UPKEEP, counts=True, now=now)
        return len(due)

    async def remove(self, caller: Caller, site_id: str, by: Actor) -> None:
        """With its reports and its schedule. Cached pages stay."""
        async with self.database.write() as connection:
            site = _seen(caller, await sites.get(connection, site_id, lock=True))
            await schedules.remove_of_subject(connection, ScheduleKind.WARM_UP, site_id)
            await sites.remove(connection, site_id)
            await _record(connection, site, Action.SITE_REMOVED, by, site.origin)
        self.directory.forget(site.owner)

    async def _note(
        self,
        site: RegisteredSite,
        checks: list[ProofCheck],
        by: Actor,
        *,
        counts: bool = False,
        now: int | None = None,
    ) -> None:
        """Write down what was found. Only checks of our own count against a proven site."""
        found = next((check for check in checks if check.finding is ProofFinding.PROVEN), None)
        async with self.database.write() as connection:
            if found is not None and site.proof is not ProofMethod.ADMIN:
                await sites.prove(connection, site.id, found.method, now=now)
                if not site.is_proven:
                    await _record(connection, site, Action.SITE_PROVEN, by, found.method.value)
                    await publish(connection, _event(EventType.SITE_PROVEN, site), now=now)
            elif found is None and counts and await sites.note_failure(connection, site.id, now=now):
                await _record(connection, site, Action.SITE_UNPROVEN, by, site.origin)
                await publish(connection, _event(EventType.SITE_UNPROVEN, site), now=now)
                self.log.warning("site_unproven", "the proof of a site is gone", siteId=site.id)
        self.directory.forget(site.owner)

    def _origin(self, text: str) -> str:
        url = Url.parse(text)
        if url.path not in ("", "/") or url.query or "#" in url.href:
            raise validation_error(
                "An origin has no path and no query.", hint=f"Take {url.origin}.", details={"field": "origin"}
            )
        self.dialer.admit(url.host, url.port)
        return url.origin

    def _check(self, settings: SiteSettings, origin: str) -> None:
        settings.check()
        if settings.warm_up is None:
            return
        self.schedule_keeper.check_timing(settings.warm_up.timing)
        for sitemap in settings.warm_up.sitemaps:
            on_site(origin, sitemap)

    async def _plan_warm_up(
        self, connection: AsyncConnection, caller: Caller, site: RegisteredSite
    ) -> str | None:
        """The site's schedule follows its settings, with the rights of whoever changed them; its id."""
        warm_up = site.settings.warm_up
        known = await schedules.of_subject(connection, ScheduleKind.WARM_UP, site.id)
        if warm_up is None:
            if known is not None:
                await schedules.remove(connection, known.id)
            return None
        if caller.tenant_id != site.tenant_id:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "This site is another tenant's; its warm-up would get the rights of your key.",
                hint="Use a key of that tenant.",
            )
        if known is not None:
            await schedules.retime(connection, known, warm_up.timing)
            await schedules.hand_over(connection, known.id, maker_of(caller))
            return known.id
        await self.quotas.reserve_schedule(connection, caller)
        new = NewSchedule(
            tenant_id=site.tenant_id,
            owner=site.owner,
            kind=ScheduleKind.WARM_UP,
            timing=warm_up.timing,
            maker=maker_of(caller),
            name=f"Warm-up of {site.origin}",
            subject=site.id,
        )
        return (await schedules.add(connection, new)).id


def on_site(origin: str, text: str) -> Url:
    """An address of this site, also if only its path is given. Raises `Problem` for another site's."""
    url = Url.parse(text, Url.parse(origin))
    if url.origin != origin:
        raise validation_error(
            f"{url.href[:200]} is not of {origin}.", details={"reason": "other_site", "origin": origin}
        )
    return url


def _seen(caller: Caller, site: RegisteredSite | None) -> RegisteredSite:
    if site is None or (caller.role is not Role.ADMIN and site.owner != owner_of(caller)):
        raise Problem(problems.NOT_FOUND, "There is no site with this id.")
    return site


def _event(type_: EventType, site: RegisteredSite) -> WebhookEvent:
    owner = site.owner if site.owner != site.tenant_id else ""
    data = {"siteId": site.id, "origin": site.origin}
    return WebhookEvent(type=type_, tenant_id=site.tenant_id, owner=owner, subject=site.id, data=data)


async def _record(
    connection: AsyncConnection, site: RegisteredSite, action: Action, by: Actor, detail: str = ""
) -> None:
    await activity.record(connection, ActivityEntry(site.tenant_id, action, site.id, by, detail))
