"""Delivers webhooks that are due."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final

from gossamer.concurrency.periodic import every
from gossamer.flows.webhooks import signing
from gossamer.flows.webhooks.work_sender import OutgoingWebhook, WorkSender
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Problem, Unavailable
from gossamer.reach.http.post import PostClient
from gossamer.state.db.database import Database
from gossamer.state.operations import subscriptions, webhook_deliveries
from gossamer.state.operations.webhook_deliveries import WebhookDelivery

EVERY_SECONDS: Final = 2.0
AT_ONCE: Final = 16
LAST_SECONDS: Final = 5.0  # for what is due when a process ends


@dataclass(frozen=True, slots=True)
class Webhooks:
    database: Database
    client: PostClient
    secrets: Mapping[str, str]  # by sender
    work: WorkSender  # of everything that has a subscription
    metrics: Metrics
    log: Log
    clock: Callable[[], float] = time.time

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
            has_ended = await subscriptions.is_any_ended(connection)
            if not has_ended and not await webhook_deliveries.are_due(connection, now=now):
                return 0
        async with self.database.write() as connection:
            if has_ended:
                await subscriptions.tell_ended(connection, now=now)
            taken = await webhook_deliveries.take_due(connection, AT_ONCE, now=now)
        endpoints: dict[tuple[str, str], list[WebhookDelivery]] = {}
        for one in taken:
            endpoints.setdefault(one.endpoint, []).append(one)
        await asyncio.gather(*(self._deliver_to_endpoint(each, now) for each in endpoints.values()))
        return len(taken)

    async def _deliver_to_endpoint(self, deliveries: Sequence[WebhookDelivery], now: int | None) -> None:
        """Pages may come together; what began or ended comes before or after them."""
        left = list(deliveries)
        while left:
            together = list(takewhile(partial(_is_alike, left[0]), left))
            left = left[len(together) :]
            whys = await asyncio.gather(*(self._send(one) for one in together))
            if not await self._settle(dict(zip(together, whys, strict=True)), left, now):
                return

    async def _settle(
        self, tried: Mapping[WebhookDelivery, str], left: Sequence[WebhookDelivery], now: int | None
    ) -> bool:
        """Write how the attempts ended. False: one failed, so those that are left wait."""
        outcomes = dict.fromkeys(tried, "delivered")
        failed = [one for one, why in tried.items() if why]
        async with self.database.write() as connection:
            for one, why in tried.items():
                if not why:
                    await webhook_deliveries.succeed(connection, one, now=now)
                elif await webhook_deliveries.fail(connection, one, why, now=now):
                    outcomes[one] = "failed"
                else:
                    outcomes[one] = "given_up"
            if failed:
                await webhook_deliveries.hold_endpoint(connection, failed, tried[failed[0]], now=now)
                await webhook_deliveries.give_back(connection, left, now=now)
        for one, outcome in outcomes.items():
            self.metrics.webhook(outcome)
            if tried[one]:
                self._log_failure(one, tried[one], outcome)
        return not failed

    def _log_failure(self, delivery: WebhookDelivery, why: str, outcome: str) -> None:
        self.log.warning(
            "webhook_failed", why, webhookId=delivery.id, attempt=delivery.attempt, outcome=outcome
        )

    async def _send(self, delivery: WebhookDelivery) -> str:
        """Why it was not delivered; empty if it was."""
        try:
            outgoing = await self._compose(delivery)
            if outgoing is None:
                return ""
            status = await self.client.post(outgoing.url, outgoing.headers, outgoing.body.encode())
        except Problem as problem:
            return problem.reason or problem.detail
        except Exception as error:  # noqa: BLE001  (a defect that one event reveals must not stop the others)
            self.log.error("webhook_defect", "a webhook could not be written", cause=error)
            return "it could not be written"
        return "" if 200 <= status < 300 else f"the receiver answered {status}"

    async def _compose(self, delivery: WebhookDelivery) -> OutgoingWebhook | None:
        timestamp = int(self.clock())
        if not delivery.url:
            return await self.work.compose(delivery, timestamp)
        secret = self.secrets.get(delivery.sender, "")
        signed = signing.headers(secret, delivery.id, timestamp, delivery.body)
        return OutgoingWebhook(delivery.url, signed, delivery.body)

    def _postpone(self, away: Unavailable) -> None:
        self.log.debug("webhooks_postponed", "they will be sent later", why=away.detail)


def _is_alike(first: WebhookDelivery, other: WebhookDelivery) -> bool:
    return first.event == other.event
