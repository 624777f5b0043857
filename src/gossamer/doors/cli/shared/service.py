"""CommandService: the parts of `app.py` that the commands use."""

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from starlette.types import ASGIApp

from gossamer.doors.embedded.parts import EngineParts
from gossamer.flows.data.archive.restorer import ArchiveRestorer
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.removals import Removals
from gossamer.flows.data.removal.retention import Retention
from gossamer.flows.data.repair.replayer import Replayer
from gossamer.flows.data.repair.verifier import Verifier
from gossamer.flows.doctor.doctor import Doctor
from gossamer.flows.schedules.scheduler import Scheduler
from gossamer.flows.tenants.keys import IssuedKey, Keys
from gossamer.flows.tenants.people import InvitedUser, People
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.flows.upkeep.supervision import Supervisor
from gossamer.flows.upkeep.watch import Watch
from gossamer.observe.metrics import Metrics
from gossamer.settings.settings import Settings
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.hosts import Hosts
from gossamer.state.kv.hot import Hot

if TYPE_CHECKING:
    from gossamer.doors.http.server.fast_path import HitFastPath


class CommandService(EngineParts, Protocol):
    """The parts of `app.py` that the commands use."""

    settings: Settings
    hot: Hot
    blobs: Blobs
    keys: Keys
    people: People
    first_key: IssuedKey | None
    first_link: InvitedUser | None
    bootstrap_key_is_unknown: bool
    metrics: Metrics
    stopping: Stopping
    supervisor: Supervisor
    worker_name: str
    watch: Watch
    scheduler: Scheduler
    hosts: Hosts
    deleter: Deleter
    removals: Removals
    retention: Retention
    archive_restorer: ArchiveRestorer
    replayer: Replayer
    verifier: Verifier
    doctor: Doctor

    def app(self) -> ASGIApp: ...

    def operations_app(self) -> ASGIApp: ...

    def fast_path(self) -> "HitFastPath": ...

    async def prepare(self) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
