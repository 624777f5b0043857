"""Delivers webhooks that are due."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gossamer.concurrency.periodic import every
from gossamer.flows.webhooks import signing
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Problem, Unavailable
from gossamer.reach.http.post import PostClient
from gossamer.state.db.database import Database
from gossamer.state.operations import webhook_deliveries
from gossamer.state.operations.webhook_deliveries import WebhookDelivery

EVERY_SECONDS: Final = 2.0
AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Webhooks:
    database: Database
    client: PostClient
    secrets: Mapping[str, str]  # by sender
    metrics: Metrics
    log: Log
    clock: Callable[[], float] = time.time

    async def run(self) -> None:
        """Until cancelled. What is under way then is tried again by another process."""
        await every(EVERY_SECONDS, self._deliver_safely, on_outage=self._postpone)

    async def _deliver_safely(self) -> None:
        while await self.deliver_due() == AT_ONCE:
            pass

    async def deliver_due(self, *, now: int | None = None) -> int:
        """Try those that are due, some at a time; returns how many."""
        async with self.database.read() as connection:
            if not await webhook_deliveries.are_due(connection, now=now):
                return 0
        async with self.database.write() as connection:
            taken = await webhook_deliveries.take_due(connection, AT_ONCE, now=now)
        await asyncio.gather(*(self._deliver(one, now) for one in taken))
        return len(taken)

    async def _deliver(self, delivery: WebhookDelivery, now: int | None) -> None:
        why = await self._send(delivery)
        async with self.database.write() as connection:
            if not why:
                await webhook_deliveries.succeed(connection, delivery, now=now)
                outcome = "delivered"
            else:
                again = await webhook_deliveries.fail(connection, delivery, why, now=now)
                outcome = "failed" if again else "given_up"
        self.metrics.webhook(outcome)
        if why:
            self.log.warning(
                "webhook_failed", why, webhookId=delivery.id, attempt=delivery.attempt, outcome=outcome
            )

    async def _send(self, delivery: WebhookDelivery) -> str:
        """Why it was not delivered; empty if it was."""
        secret = self.secrets.get(delivery.sender, "")
        signed = signing.headers(secret, delivery.id, int(self.clock()), delivery.body)
        try:
            status = await self.client.post(delivery.url, signed, delivery.body.encode())
        except Problem as problem:
            return problem.reason or problem.detail
        return "" if 200 <= status < 300 else f"the receiver answered {status}"

    def _postpone(self, away: Unavailable) -> None:
        self.log.debug("webhooks_postponed", "they will be sent later", why=away.detail)
