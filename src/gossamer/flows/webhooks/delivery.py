"""Delivers webhooks that are due."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct

from gossamer.concurrency.periodic import every
from gossamer.flows.webhooks.sending import WebhookSender
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.http.post import PostClient
from gossamer.state.db.database import Database
from gossamer.state.wakeups.wakeups import Wakeups
from gossamer.state.webhooks import deliveries, endpoint_health, publishing
from gossamer.state.webhooks.deliveries import WebhookDelivery
from gossamer.state.webhooks.endpoint_health import DisabledEndpoint
from gossamer.web.webhooks.attempt import DeliveryAttempt
from gossamer.web.webhooks.event_type import EventType

EVERY_SECONDS: Final = 2.0
AT_ONCE: Final = 16
ROUND_SECONDS: Final = 5.0  # then the other receivers have their turn again
LAST_SECONDS: Final = 5.0  # for what is due when a process ends


class Webhooks(Struct, frozen=True):
    database: Database
    sender: WebhookSender
    metrics: Metrics
    log: Log

    @property
    def client(self) -> PostClient:
        return self.sender.client

    async def run(self, wakeups: Wakeups) -> None:
        """Until cancelled. What is under way then is tried again by another process."""
        with wakeups.looking() as rest:

            async def rest_until_due(seconds: float) -> None:
                await rest(seconds, await self._find_due())

            await every(EVERY_SECONDS, self._deliver_safely, on_outage=self._postpone, rest=rest_until_due)

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

    async def _find_due(self) -> float | None:
        """The seconds until the next one is due; None: there is none."""
        try:
            async with self.database.read() as connection:
                left = await deliveries.until_due(connection)
        except Unavailable:
            return 0.0
        return None if left is None else left / 1000

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
        """One after the other, so that they keep their order. Only pages may come together."""
        left = list(taken)
        enough = asyncio.get_running_loop().time() + ROUND_SECONDS
        while left:
            count = len(list(takewhile(_is_page, left))) or 1
            together, left = left[:count], left[count:]
            attempts = await asyncio.gather(*(self.sender.send(one) for one in together))
            is_over = asyncio.get_running_loop().time() > enough
            if not await self._settle(dict(zip(together, attempts, strict=True)), left, now, is_over=is_over):
                return

    async def _settle(
        self,
        tried: Mapping[WebhookDelivery, DeliveryAttempt],
        left: Sequence[WebhookDelivery],
        now: int | None,
        *,
        is_over: bool,
    ) -> bool:
        """Write how the attempts ended. False: one failed, or time is over, so those that are left wait."""
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
                    await deliveries.give_back(connection, left, now=now)
                    await deliveries.hold_others(connection, failed, hold, now=now)
            else:
                await endpoint_health.note_success(connection, endpoint_id, now=now)
                if is_over:
                    await deliveries.give_back(connection, left, now=now)
            if failed or is_over or not left:
                await deliveries.release_endpoint(connection, endpoint_id)
        for one, made in tried.items():
            self._report(one, made, goes_on=goes_on[one])
        if disabled is not None:
            self.log.warning(
                "webhook_disabled",
                "an endpoint hears nothing any more",
                webhookId=disabled.id,
                reason=disabled.reason,
            )
        return not failed and not is_over

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


def _is_page(delivery: WebhookDelivery) -> bool:
    return delivery.event in (EventType.CRAWL_PAGE, EventType.BATCH_PAGE)
