"""The evaluator: looks, asks every rule, and stores what changed. One process at a time has this duty."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct, field

from gossamer.concurrency.periodic import every
from gossamer.flows.alerts.alerts import to_alert
from gossamer.flows.alerts.rules import RULES, Thresholds
from gossamer.flows.alerts.situation import Situation, Surveyor
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.net.certificates import Certificates, CertificateState
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.operations import alert_rows, duties
from gossamer.state.operations.alert_rows import AlertChanges, Sighting
from gossamer.state.wakeups.wakeups import Wakeups
from gossamer.state.webhooks import deliveries, endpoints, publishing
from gossamer.state.webhooks.deliveries import NewDelivery
from gossamer.state.webhooks.publishing import WebhookEvent
from gossamer.web.pages.timestamps import iso
from gossamer.web.webhooks.event_type import EventType
from gossamer.web.webhooks.webhook import EventBody

DUTY: Final = "alerts"
SENDER: Final = "alerts"  # of webhooks
EVERY_SECONDS: Final = 10.0
HOLD_SECONDS: Final = 30.0  # after which another process takes the duty
CERTIFICATE_SECONDS: Final = 600.0  # between two looks at certificates
GROWTH_SECONDS: Final = 60.0  # over which the growth of the frontier is measured


class _Memory(Struct):
    """What an evaluator remembers between two looks."""

    frontier: list[tuple[float, int]] = field(default_factory=list)  # when, and how many URLs
    certificates: list[CertificateState] = field(default_factory=list)
    next_look: float = 0.0  # at certificates
    since: dict[tuple[str, str], float] = field(default_factory=dict)  # rule and subject of what is wrong
    is_calm: bool = False  # nothing new was wrong or right, and this process has the duty


class AlertEvaluator(Struct, frozen=True):
    name: str  # of this process
    database: Database
    surveyor: Surveyor
    certificates: Certificates
    thresholds: Thresholds
    webhooks: Sequence[str]  # URLs
    metrics: Metrics
    log: Log
    _memory: _Memory = field(default_factory=_Memory)

    async def run(self, wakeups: Wakeups, *, at_once: bool = False) -> None:
        """Until cancelled. A look launches a browser if none runs; a start should not wait for that."""
        try:
            with wakeups.looking() as rest:

                async def rest_if_calm(seconds: float) -> None:
                    await (rest if self._memory.is_calm else asyncio.sleep)(seconds)

                await every(
                    EVERY_SECONDS,
                    self._evaluate_safely,
                    at_once=at_once,
                    on_outage=self._postpone,
                    rest=rest_if_calm,
                )
        finally:
            with contextlib.suppress(Unavailable):
                async with self.database.write() as connection:
                    await duties.leave(connection, DUTY, self.name)

    async def _evaluate_safely(self) -> None:
        await self.evaluate()

    async def evaluate(self, *, now: int | None = None) -> AlertChanges | None:
        """Returns what changed; None if another process has the duty."""
        was_calm, self._memory.is_calm = self._memory.is_calm, False
        if not await self._has_duty(now):
            self.metrics.forget_certificates()  # another process looks at them now
            return None
        situation = await self._look()
        sightings = [
            Sighting(rule.name, found.subject, rule.severity, found.detail, rule.patience)
            for rule in RULES
            if rule.condition is not None
            for found in rule.condition(situation, self.thresholds)
        ]
        before = self._memory.since
        since = {
            (one.rule, one.subject): before.get((one.rule, one.subject), situation.now) for one in sightings
        }
        is_same = since.keys() == before.keys()
        async with self.database.write(quiet=is_same and was_calm) as connection:
            # Again, in this transaction: looking may have taken longer than the duty lasts.
            if not await duties.take(connection, DUTY, self.name, seconds=HOLD_SECONDS, now=now):
                return None
            changes = await alert_rows.apply(connection, sightings, now=now)
            await self._tell(connection, changes, now)
            await alert_rows.forget_old(connection, now=now)
            await endpoints.forget_headers(connection, now=now)
            await endpoints.adopt(connection)
        self._memory.since = since
        told = all(situation.now - since[one.rule, one.subject] > one.patience for one in sightings)
        self._memory.is_calm = is_same and told and not changes.raised and not changes.resolved
        self._log(changes)
        return changes

    async def show(self) -> None:
        """Put the number of raised alerts into the metrics of this process."""
        async with self.database.read() as connection:
            rows = await alert_rows.list_open(connection)
        raised = Counter((row.rule, row.severity.value) for row in rows)
        self.metrics.alerts({(rule.name, rule.severity.value): 0 for rule in RULES} | raised)

    async def _has_duty(self, now: int | None) -> bool:
        async with self.database.write(quiet=True) as connection:
            return await duties.take(connection, DUTY, self.name, seconds=HOLD_SECONDS, now=now)

    async def _look(self) -> Situation:
        situation = await self.surveyor.look()
        memory, time = self._memory, situation.now
        if time >= memory.next_look:
            memory.certificates = await self.certificates.look()
            memory.next_look = time + CERTIFICATE_SECONDS
            for one in memory.certificates:
                self.metrics.certificate(one.host, max(0.0, one.expires - time))
        past = [one for one in memory.frontier if one[0] <= time - GROWTH_SECONDS]
        memory.frontier = [*past[-1:], *(one for one in memory.frontier if one not in past)]
        memory.frontier.append((time, situation.stored.frontier))
        return Situation(
            now=time,
            stored=situation.stored,
            services=situation.services,
            disks=situation.disks,
            certificates=memory.certificates,
            frontier_before=past[-1][1] if past else None,
        )

    async def _tell(self, connection: AsyncConnection, changes: AlertChanges, now: int | None) -> None:
        """The operator's endpoints, and the addresses that the settings name."""
        told = [(EventType.ALERT_RAISED, row, row.raised_at) for row in changes.raised]
        told += [(EventType.ALERT_RESOLVED, row, row.resolved_at) for row in changes.resolved]
        for event, row, at in told:
            alert = to_alert(row)
            news = WebhookEvent(type=event, subject=alert.id, data=alert)
            await publishing.publish(connection, news, now=now)
            body = msgspec.json.encode(EventBody(event, iso((at or 0) / 1000), alert)).decode()
            new = [NewDelivery(sender=SENDER, url=url, event=event, body=body) for url in self.webhooks]
            await deliveries.queue(connection, new, now=now)

    def _log(self, changes: AlertChanges) -> None:
        for row in changes.raised:
            self.log.warning(
                "alert_raised", row.detail, rule=row.rule, subject=row.subject, severity=row.severity.value
            )
        for row in changes.resolved:
            self.log.info("alert_resolved", rule=row.rule, subject=row.subject)

    def _postpone(self, away: Unavailable) -> None:
        self.log.debug("alerts_postponed", "rules will be evaluated again", why=away.detail)
