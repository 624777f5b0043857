"""Watch: what a server or a worker does so that operators learn how it is: alerts, webhooks, gauges."""

from functools import partial

from msgspec import Struct

from gossamer.flows.alerts.evaluator import AlertEvaluator
from gossamer.flows.upkeep.gauges import Gauges
from gossamer.flows.upkeep.supervision import Supervisor
from gossamer.flows.webhooks.delivery import Webhooks
from gossamer.state.wakeups.wakeups import Wakeups


class Watch(Struct, frozen=True):
    evaluator: AlertEvaluator
    webhooks: Webhooks
    gauges: Gauges

    def start(self, supervisor: Supervisor, wakeups: Wakeups) -> None:
        """Evaluate alerts and deliver webhooks, in turns with the other servers and workers."""
        supervisor.start("alerts", partial(self.evaluator.run, wakeups))
        supervisor.start("webhooks", partial(self.webhooks.run, wakeups))

    async def close(self) -> None:
        await self.webhooks.client.close()
