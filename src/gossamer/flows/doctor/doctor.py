"""The doctor: runs all examinations at once, each within its time."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from gossamer.flows.doctor import choices, machine, services
from gossamer.flows.doctor.diagnosis import Condition, Diagnosis, broken
from gossamer.observe.logs import Log
from gossamer.problems import Problem
from gossamer.reach.browser.browser import Browsers
from gossamer.reach.net.names import Names
from gossamer.settings.settings import Settings
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.database import Database
from gossamer.state.kv.hot import Hot

SECONDS: Final = 15.0  # for one examination
Examination = Callable[[], Awaitable[Diagnosis | list[Diagnosis]]]


class Doctor(Struct, frozen=True):
    settings: Settings
    database: Database
    hot: Hot
    blobs: Blobs
    browsers: Browsers
    names: Names
    kinds: Collection[str]  # of jobs
    log: Log
    embedding: services.Progress | None = None  # how far it is, if there is a model for it

    async def examine(self) -> list[Diagnosis]:
        """Every part, in the order in which an operator would mend them."""
        database = partial(services.examine_database, self.database, self.settings)
        first = await self._examine("database", database)
        is_current = any(one.subject == services.SCHEMA and one.condition is Condition.OK for one in first)
        table = {**self._parts(), **(self._stored() if is_current else {}), **self._choices()}
        found = await asyncio.gather(*(self._examine(subject, ask) for subject, ask in table.items()))
        return [*first, *(diagnosis for diagnoses in found for diagnosis in diagnoses)]

    def _parts(self) -> dict[str, Examination]:
        settings = self.settings
        return {
            "hot store": lambda: services.examine_hot(self.hot),
            "blobs": lambda: services.examine_blobs(self.blobs),
            "disk": lambda: asyncio.to_thread(machine.examine_disks, settings),
            "memory": lambda: asyncio.to_thread(machine.examine_memory, settings.browser_places),
            "descriptors": lambda: asyncio.to_thread(machine.examine_descriptors),
            "names": lambda: services.examine_names(self.names, self._known_name()),
            "browser": lambda: services.examine_browser(self.browsers),
        }

    def _stored(self) -> dict[str, Examination]:
        """What is in the database, and can be looked at only if it has this release's tables."""
        settings, database = self.settings, self.database
        serves = settings.serve_worker == "yes" or (
            settings.serve_worker == "auto" and database.dialect == "sqlite"
        )
        return {
            "clock": lambda: machine.examine_clock(database),
            "workers": lambda: choices.examine_workers(database, self.kinds, serves=serves),
            "backup": lambda: choices.examine_backups(database, settings, time.time()),
            "agents' memory": lambda: services.examine_memories(database),
            **self._optional(),
        }

    def _optional(self) -> dict[str, Examination]:
        progress = self.embedding
        if progress is None:
            return {}
        return {"embeddings": lambda: services.examine_embeddings(progress, self.settings.embeddings_model)}

    def _choices(self) -> dict[str, Examination]:
        settings = self.settings
        return {
            "public URL": lambda: _at_once(choices.examine_public_url(settings)),
            "contact": lambda: _at_once(choices.examine_contact(settings)),
            "secrets": lambda: _at_once(choices.examine_secrets(settings)),
        }

    async def _examine(self, subject: str, ask: Examination) -> list[Diagnosis]:
        try:
            async with asyncio.timeout(SECONDS):
                found = await ask()
        except TimeoutError:
            return [broken(subject, f"no answer within {SECONDS:g} s", "See whether it is reachable at all.")]
        except Problem as problem:
            return [broken(subject, problem.detail, problem.hint or "Check its address and its credentials.")]
        except Exception as error:  # noqa: BLE001 - the other parts are examined all the same
            self.log.error("examination_failed", "a part could not be examined", subject=subject, cause=error)
            return [broken(subject, "it could not be examined", "The log says why.")]
        return found if isinstance(found, list) else [found]

    def _known_name(self) -> str:
        host = urlsplit(self.settings.public_url).hostname or ""
        return host if "." in host and not host.replace(".", "").isdigit() else services.KNOWN_NAME


async def _at_once(found: Diagnosis | list[Diagnosis]) -> Diagnosis | list[Diagnosis]:
    return found
