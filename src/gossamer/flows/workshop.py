"""Workshop: work on pages that may take long, or more memory than it should, in processes that can be killed.

A small page of few tags is worked on where it is, in a few milliseconds. Large ones, PDFs and whatever may
surprise go to a child process (`python -m gossamer.flows.workshop`) with a bound on memory and time, which
knows no secrets and has nothing but a pipe: what it hands back is decoded as data of a known shape.
"""

import asyncio
import contextlib
import math
import os
import resource
import sys
from dataclasses import dataclass
from typing import BinaryIO, Final

import msgspec

from gossamer import problems
from gossamer.problems import Problem, Unavailable
from gossamer.web import reading
from gossamer.web.documents import path_of
from gossamer.web.kind import READABLE, Kind, kind_of
from gossamer.web.outcome import Judgement, judge
from gossamer.web.page import Page
from gossamer.web.prerender import Prerendered, prerender
from gossamer.web.reading import How, Reading
from gossamer.web.structured.harvest import Harvest, harvest
from gossamer.web.structured.schema import Json, Schema

SMALL: Final = 64 * 1024  # bytes of a body that is read in place,
FEW_TAGS: Final = 1000  # if there are no more of these in it: each may cost 30 µs
SECONDS: Final = 10.0
MEMORY: Final = 2 * 1024**3  # bytes of address space
LONGEST: Final = 256 * 1024**2  # bytes of a message that comes back
_LENGTH: Final = 4  # bytes before each message
_AT_HAND: Final = frozenset({Kind.HTML, Kind.TEXT, Kind.MARKDOWN, Kind.JSON})
_NOTHING: Final = Page(
    url="", final_url="", status=200, headers=(), body=b"", media_type="text/html", charset="utf-8"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A rendered page as it is to be served, and what it is."""

    served: Prerendered
    judgement: Judgement


class ToRead(msgspec.Struct, array_like=True, tag=True):
    page: Page
    how: How


class ToPrepare(msgspec.Struct, array_like=True, tag=True):
    page: Page
    keep_scripts: bool


class ToHarvest(msgspec.Struct, array_like=True, tag=True):
    page: Page
    schema: Json
    with_text: bool


Work = ToRead | ToPrepare | ToHarvest


class Refusal(msgspec.Struct, array_like=True, tag=True):
    """A problem on its way through the pipe."""

    name: str
    detail: str
    hint: str | None
    details: dict[str, str | int | None]


class WasRead(msgspec.Struct, array_like=True, tag=True):
    made: Reading


class WasPrepared(msgspec.Struct, array_like=True, tag=True):
    made: Prepared


class WasHarvested(msgspec.Struct, array_like=True, tag=True):
    made: Harvest


Done = WasRead | WasPrepared | WasHarvested
Result = Done | Refusal


class Workshop:
    def __init__(
        self, processes: int, *, seconds: float = SECONDS, small: int = SMALL, memory: int = MEMORY
    ) -> None:
        self._seconds = seconds
        self._small = small
        self._memory = memory
        self._places = asyncio.Semaphore(processes)
        self._idle: list[asyncio.subprocess.Process] = []
        self._busy: set[asyncio.subprocess.Process] = set()
        self._closed = False

    async def read(self, page: Page, how: How) -> Reading:
        if self._is_at_hand(page, how):
            return reading.read(page, how)
        made = (await self._elsewhere(ToRead(page, how))).made
        assert isinstance(made, Reading)  # noqa: S101  (what was asked for)
        return made

    async def prepare(self, page: Page, *, keep_scripts: bool) -> Prepared:
        """A page that a browser has rendered, for serving."""
        if len(page.body) <= self._small and page.body.count(b"<") <= FEW_TAGS:
            return prepared(page, keep_scripts=keep_scripts)
        made = (await self._elsewhere(ToPrepare(page, keep_scripts))).made
        assert isinstance(made, Prepared)  # noqa: S101  (what was asked for)
        return made

    async def harvest(self, page: Page, schema: Schema, *, with_text: bool) -> Harvest:
        """Never here: how long it takes depends on the schema too, and that is its caller's."""
        made = (await self._elsewhere(ToHarvest(page, schema.document, with_text))).made
        assert isinstance(made, Harvest)  # noqa: S101  (what was asked for)
        return made

    async def check(self, how: How) -> None:
        """Raise what is wrong with the caller's selectors, before a page is fetched for them."""
        if how.include or how.exclude:
            await self.read(_NOTHING, how)

    async def close(self) -> None:
        """Nobody is left; whoever still waits for a reading is told that there is none."""
        self._closed = True
        for worker in self._busy:
            _kill(worker)
        while self._idle:
            await _end(self._idle.pop())

    def _is_at_hand(self, page: Page, how: How) -> bool:
        """Is it little work, or none because it will be refused? A selector may take for ever on any page."""
        kind = kind_of(page.media_type, page.body, path_of(page.final_url))
        if kind not in READABLE:
            return True
        small = self._small if how.max_tokens is None else self._small // 4  # a brief is work of its own
        return (
            len(page.body) <= small
            and kind in _AT_HAND
            and page.body.count(b"<") <= FEW_TAGS
            and not how.include
            and not how.exclude
        )

    async def _elsewhere(self, work: Work) -> Done:
        async with self._places:
            result = await self._by_another(msgspec.msgpack.encode(work), work.page)
        if isinstance(result, Refusal):
            raise _problem(result)
        return result

    async def _by_another(self, work: bytes, page: Page) -> Result:
        worker = await self._worker()
        self._busy.add(worker)
        done = False
        try:
            async with asyncio.timeout(self._seconds):
                result = await _hand_over(worker, work)
            done = True
        except (TimeoutError, EOFError, OSError, msgspec.MsgspecError):
            raise _unreadable(page) from None
        finally:
            self._busy.discard(worker)
            if done and not self._closed:
                self._idle.append(worker)
            else:  # late, dead, cancelled: it is of no more use
                await asyncio.shield(_end(worker))
        return result

    async def _worker(self) -> asyncio.subprocess.Process:
        while self._idle:
            worker = self._idle.pop()
            if worker.stdout is not None and not worker.stdout.at_eof():
                return worker
            await _end(worker)  # it died while nobody needed it
        return await _start(self._memory, self._seconds)


def prepared(page: Page, *, keep_scripts: bool) -> Prepared:
    return Prepared(prerender(page.text, page.final_url, keep_scripts=keep_scripts), judge(page))


async def _start(memory: int, seconds: float) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gossamer.flows.workshop",
            str(memory),
            str(seconds),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # a Ctrl-C is for us, who then end it
        )
    except OSError as error:
        raise Unavailable("reader of large pages", error.strerror or "it cannot be started") from error


async def _hand_over(worker: asyncio.subprocess.Process, work: bytes) -> Result:
    assert worker.stdin is not None  # noqa: S101  (opened as pipes)
    assert worker.stdout is not None  # noqa: S101
    worker.stdin.write(len(work).to_bytes(_LENGTH) + work)
    await worker.stdin.drain()
    length = int.from_bytes(await worker.stdout.readexactly(_LENGTH))
    if length > LONGEST:
        raise EOFError
    result: Result = msgspec.msgpack.decode(await worker.stdout.readexactly(length), type=Result)
    return result


async def _end(worker: asyncio.subprocess.Process) -> None:
    """Kill it and wait until it is gone; what it still had to say is read, or its pipe would stay open."""
    _kill(worker)
    await worker.communicate()
    if worker.stdin is not None:
        worker.stdin.close()


def _kill(worker: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.kill()


def _unreadable(page: Page) -> Problem:
    return Problem(
        problems.CONTENT_UNREADABLE,
        "The target's answer is too much work to read.",
        details={"url": page.final_url, "reason": "unreadable_content", "mediaType": page.media_type},
    )


def _problem(refusal: Refusal) -> Problem:
    kind = problems.KINDS[refusal.name]
    return Problem(kind, refusal.detail, hint=refusal.hint, details=refusal.details or None)


# The other side of the pipe.


def serve(source: BinaryIO, sink: BinaryIO, seconds: float) -> None:
    while head := source.read(_LENGTH):
        _end_after(seconds)
        work = msgspec.msgpack.decode(source.read(int.from_bytes(head)), type=Work)
        answer = msgspec.msgpack.encode(_result(work))
        sink.write(len(answer).to_bytes(_LENGTH) + answer)
        sink.flush()


def _result(work: Work) -> Result:
    try:
        if isinstance(work, ToPrepare):
            return WasPrepared(prepared(work.page, keep_scripts=work.keep_scripts))
        if isinstance(work, ToHarvest):
            return WasHarvested(harvest(work.page, work.schema, with_text=work.with_text))
        return WasRead(reading.read(work.page, work.how))
    except Problem as problem:
        return Refusal(problem.kind.name, problem.detail, problem.hint, problem.members.get("details") or {})


def _end_after(seconds: float) -> None:
    """Of CPU time, from here: should nobody be left to kill us, the system does."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main(memory: int, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    serve(sys.stdin.buffer, sys.stdout.buffer, seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
