"""Delivers webhooks that are due."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final

from gossamer.concurrency.periodic import every
from gossamer.flows.webhooks.sending import WebhookSender
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.http.post import PostClient
from gossamer.state.db.database import Database
from gossamer.state.webhooks import deliveries, endpoint_health, publishing
from gossamer.state.webhooks.deliveries import WebhookDelivery
from gossamer.state.webhooks.endpoint_health import DisabledEndpoint
from gossamer.web.webhooks.attempt import DeliveryAttempt

EVERY_SECONDS: Final = 2.0
AT_ONCE: Final = 16
LAST_SECONDS: Final = 5.0  # for what is due when a process ends


@dataclass(frozen=True, slots=True)
class Webhooks:
    database: Database
    sender: WebhookSender
    metrics: Metrics
    log: Log

    @property
    def client(self) -> PostClient:
        return self.sender.client

    async def run(self) -> None:
        """Until cancelled. What is under way then is tried again by another process."""
        await every(EVERY_SECONDS, self._deliver_safely, on_outage=self._postpone)

    async def deliver_last(self) -> None:
        """What is due now, as far as time allows; the rest is left to the next process."""
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self._deliver_safely()
        except (TimeoutError, Unavailable):
            return

    async def _deliver_safely(self) -> None:
        while await self.deliver_due():
            pass

    async def deliver_due(self, *, now: int | None = None) -> int:
        """Try those that are due, some at a time; returns how many."""
        async with self.database.read() as connection:
            has_ended = await publishing.is_any_ended(connection)
            if not has_ended and not await deliveries.are_due(connection, now=now):
                return 0
        async with self.database.write() as connection:
            if has_ended:
                await publishing.tell_ended(connection, now=now)
            taken = await deliveries.take_due(connection, AT_ONCE, now=now)
        by_endpoint: dict[tuple[str, str], list[WebhookDelivery]] = {}
        for one in taken:
            by_endpoint.setdefault(one.endpoint, []).append(one)
        await asyncio.gather(*(self._deliver_to_endpoint(each, now) for each in by_endpoint.values()))
        return len(taken)

    async def _deliver_to_endpoint(self, taken: Sequence[WebhookDelivery], now: int | None) -> None:
        """Pages may come together; what began or ended comes before or after them."""
        left = list(taken)
        while left:
            together = list(takewhile(partial(_is_alike, left[0]), left))
            left = left[len(together) :]
            attempts = await asyncio.gather(*(self.sender.send(one) for one in together))
            if not await self._settle(dict(zip(together, attempts, strict=True)), left, now):
                return

    async def _settle(
        self,
        tried: Mapping[WebhookDelivery, DeliveryAttempt],
        left: Sequence[WebhookDelivery],
        now: int | None,
    ) -> bool:
        """Write how the attempts ended. False: one failed, so those that are left wait."""
        endpoint_id = next(iter(tried)).sender
        failed = [one for one, made in tried.items() if not made.reason.is_good]
        disabled: DisabledEndpoint | None = None
        async with self.database.write() as connection:
            goes_on = {
                one: await deliveries.end_attempt(connection, one, made, now=now)
                for one, made in tried.items()
            }
            if failed:
                reason = tried[failed[0]].reason
                hold, disabled = await endpoint_health.note_failure(connection, endpoint_id, reason, now=now)
                if disabled is None:
                    await deliveries.hold_others(connection, failed, hold, now=now)
                    await deliveries.give_back(connection, left, hold, now=now)
            else:
                await endpoint_health.note_success(connection, endpoint_id, now=now)
        for one, made in tried.items():
            self._report(one, made, goes_on=goes_on[one])
        if disabled is not None:
            self.log.warning(
                "webhook_disabled",
                "an endpoint hears nothing any more",
                webhookId=disabled.id,
                reason=disabled.reason,
            )
        return not failed

    def _report(self, delivery: WebhookDelivery, made: DeliveryAttempt, *, goes_on: bool) -> None:
        outcome = "delivered" if made.reason.is_good else "failed" if goes_on else "given_up"
        self.metrics.webhook(outcome)
        if not made.reason.is_good:
            self.log.warning(
                "webhook_failed",
                made.detail,
                webhookId=delivery.id,
                attempt=delivery.attempt,
                outcome=outcome,
            )

    def _postpone(self, away: Unavailable) -> None:
        self.log.debug("webhooks_postponed", "they will be sent later", why=away.detail)


def _is_alike(first: WebhookDelivery, other: WebhookDelivery) -> bool:
    return first.event == other.event
