"""News: how whoever follows jobs learns what happens in them.

However many follow, and whatever they follow: there is one look for all of them, and what is new in a job is
read once for all who lack the same. While the database is away, nothing is new.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from gossamer.problems import Unavailable
from gossamer.state.job import Head
from gossamer.state.job_events import Event
from gossamer.state.jobs import Jobs

LOOK_SECONDS: Final = 0.5


@dataclass(slots=True, eq=False)
class _Followed:
    """A job that somebody follows."""

    followers: int = 0
    head: Head | None = None  # None: it has to be looked for
    moved: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def move(self, head: Head) -> None:
        if head != self.head:
            self.head = head
            moved, self.moved = self.moved, asyncio.get_running_loop().create_future()
            moved.set_result(None)


class News:
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._followed: dict[str, _Followed] = {}
        self._joined = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._reading: dict[tuple[str, int], asyncio.Task[Sequence[Event]]] = {}

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

    async def moved(self, followed: _Followed, seconds: float) -> None:
        """Until there is news of the job, or for so long."""
        assert self._watching is not None  # noqa: S101  (while somebody follows)
        watching = self._watching
        await asyncio.wait((followed.moved, watching), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()

    async def read(self, job_id: str, after: int) -> Sequence[Event]:
        """Who lacks the same events asks for them at the same moment: one reads, the others wait."""
        task = self._reading.get((job_id, after))
        if task is None:
            task = self._reading[job_id, after] = asyncio.create_task(
                self._jobs.events(job_id, after_seq=after)
            )
            task.add_done_callback(lambda ended: self._has_read(job_id, after, ended))
        return await asyncio.shield(task)

    def _has_read(self, job_id: str, after: int, task: asyncio.Task[Sequence[Event]]) -> None:
        del self._reading[job_id, after]
        if not task.cancelled():
            task.exception()  # heard by who waits, if anybody still does

    async def _watch(self) -> None:
        while True:
            self._joined.clear()
            with suppress(Unavailable):
                await self._look()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._joined.wait()

    async def _look(self) -> None:
        wanted = dict(self._followed)
        found = await self._jobs.heads(wanted)
        for job_id, followed in wanted.items():
            followed.move(found.get(job_id, Head(0, is_over=True)))


@dataclass(frozen=True, slots=True)
class Follower:
    """One who follows a job."""

    _news: News
    _job_id: str
    _followed: _Followed

    async def since(self, after: int, seconds: float) -> Sequence[Event] | None:
        """What was told since event number `after`, as soon as something was; empty when that takes longer
        than `seconds`; None when the job is over and there is nothing more to tell."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (left := until - loop.time()) > 0:
            head = self._followed.head
            if head is not None and head.seq > after:
                with suppress(Unavailable):
                    if events := await self._news.read(self._job_id, after):
                        return events
                self._followed.head = None  # the job is gone, or the database
            elif head is not None and head.is_over:
                return None
            await self._news.moved(self._followed, left)
        return ()
