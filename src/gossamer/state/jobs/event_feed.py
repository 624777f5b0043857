"""Follow the events of jobs.

One query looks at all followed jobs at once, and new events are read once for all followers that lack them.
While the database is away, there are no new events.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from msgspec import Struct, field

from gossamer.concurrency.single_flight import SingleFlight
from gossamer.problems import Unavailable
from gossamer.state.jobs.job import EventHead
from gossamer.state.jobs.job_events import Event
from gossamer.state.jobs.jobs import Jobs

POLL_SECONDS: Final = 0.5


class _Followed(Struct, eq=False):
    """A job that has followers."""

    followers: int = 0
    head: EventHead | None = None  # None: it has to be looked up
    moved: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def move(self, head: EventHead) -> None:
        if head != self.head:
            self.head = head
            moved, self.moved = self.moved, asyncio.get_running_loop().create_future()
            moved.set_result(None)


class EventFeed:
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._followed: dict[str, _Followed] = {}
        self._joined = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._reading: SingleFlight[tuple[str, int], Sequence[Event]] = SingleFlight()

    @asynccontextmanager
    async def following(self, job_id: str) -> AsyncIterator["Follower"]:
        followed = self._followed.setdefault(job_id, _Followed())
        followed.followers += 1
        self._joined.set()
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        try:
            yield Follower(self, job_id, followed)
        finally:
            await self._leave(job_id, followed)

    async def _leave(self, job_id: str, followed: _Followed) -> None:
        followed.followers -= 1
        if not followed.followers:
            del self._followed[job_id]
        if not self._followed and self._watching is not None:
            watching, self._watching = self._watching, None
            watching.cancel()
            await asyncio.wait((watching,))

    async def wait(self, followed: _Followed, seconds: float) -> None:
        """Wait until the job has new events, at most for `seconds`."""
        assert self._watching is not None  # noqa: S101  (while there are followers)
        watching = self._watching
        await asyncio.wait((followed.moved, watching), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()

    async def read(self, job_id: str, after: int) -> Sequence[Event]:
        """Followers that lack the same events ask for them at the same moment, and share one read."""
        return await self._reading.share((job_id, after), lambda: self._jobs.events(job_id, after_seq=after))

    async def _watch(self) -> None:
        while True:
            self._joined.clear()
            with suppress(Unavailable):
                await self._look()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._joined.wait()

    async def _look(self) -> None:
        wanted = dict(self._followed)
        found = await self._jobs.heads(wanted)
        for job_id, followed in wanted.items():
            followed.move(found.get(job_id, EventHead(0, is_over=True)))


class Follower(Struct, frozen=True):
    """A reader of the events of a job."""

    _feed: EventFeed
    _job_id: str
    _followed: _Followed

    async def since(self, after: int, seconds: float) -> Sequence[Event] | None:
        """The events after number `after`, as soon as there are some; empty if that takes longer than
        `seconds`; None when the job is over and all of its events were read."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (left := until - loop.time()) > 0:
            head = self._followed.head
            if head is not None and head.seq > after:
                with suppress(Unavailable):
                    if events := await self._feed.read(self._job_id, after):
                        return events
                self._followed.head = None  # the job is gone, or the database
            elif head is not None and head.is_over:
                return None
            await self._feed.wait(self._followed, left)
        return ()
