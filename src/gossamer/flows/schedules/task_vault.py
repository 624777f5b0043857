"""Tasks of schedules as they are stored: what may be secret is sealed, and shown as hidden."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.state.schedules.schedules import Schedule
from gossamer.web.schedules.schedule_task import ScheduledTask, hide_secrets

_SEALED: Final = "task"
_task: Final[msgspec.json.Decoder[ScheduledTask]] = msgspec.json.Decoder(ScheduledTask)


class StoredTask(Struct, frozen=True):
    task_json: str
    task_sealed: bytes | None


class TaskVault(Struct, frozen=True):
    keys: WebhookKeys

    async def store(self, owner: str, task: ScheduledTask) -> StoredTask:
        """Not in a transaction: the first seal makes the key."""
        whole: dict[str, Any] = msgspec.to_builtins(task)
        shown = hide_secrets(whole)
        as_shown = msgspec.json.encode(shown).decode()
        if shown == whole:
            return StoredTask(as_shown, None)
        sealed = await self.keys.seal(owner, {_SEALED: msgspec.json.encode(whole).decode()})
        return StoredTask(as_shown, sealed)

    async def open(self, schedule: Schedule) -> ScheduledTask:
        if schedule.task_sealed is None:
            return _task.decode(schedule.task_json)
        opened = await self.keys.open(schedule.owner, schedule.task_sealed)
        return _task.decode(opened[_SEALED])
