"""Workshop: work on pages that may take long, or more memory than it should, in processes that can be killed.

A page of which little can come is worked on where it is, in a few milliseconds. Large ones, PDFs and whatever
may surprise go to a child process (`flows/workbench`) with a bound on memory and time. What it hands back is
decoded as data of a known shape.
"""

import asyncio
import contextlib
import os
import sys
from typing import Final, TypeVar

import msgspec

from gossamer import problems
from gossamer.flows.workbench import (
    LENGTH,
    Audited,
    Prepared,
    Refusal,
    Result,
    ToAudit,
    ToHarvest,
    ToList,
    ToPrepare,
    ToRead,
    ToTakeApart,
    ToTell,
    Work,
    audited,
    listed,
    prepared,
)
from gossamer.problems import Problem, Unavailable
from gossamer.web import reading, sitemap
from gossamer.web.audit import Subject
from gossamer.web.documents import path_of
from gossamer.web.kind import READABLE, Kind, kind_of
from gossamer.web.page import Page
from gossamer.web.parts import Parts, is_quick
from gossamer.web.reading import How, Reading
from gossamer.web.sanitise import most_elements
from gossamer.web.site_checks.sight import Form
from gossamer.web.sitemap import Entries
from gossamer.web.structured.harvest import Harvest
from gossamer.web.structured.schema import Schema

SMALL: Final = 64 * 1024  # bytes of a body that is read in place,
FEW_TAGS: Final = 1000  # if there are no more of these in it: each may cost 30 µs
FEW_ELEMENTS: Final = 1500  # and no more of these can come of them
SECONDS: Final = 10.0
MEMORY: Final = 2 * 1024**3  # bytes of address space
LONGEST: Final = 256 * 1024**2  # bytes of a message that comes back
_AT_HAND: Final = frozenset({Kind.HTML, Kind.TEXT, Kind.MARKDOWN, Kind.JSON})
_NOTHING: Final = Page(
    url="", final_url="", status=200, headers=(), body=b"", media_type="text/html", charset="utf-8"
)

M = TypeVar("M", Reading, Prepared, Harvest, Parts, Entries, str, Audited)


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
        return await self._elsewhere(ToRead(page, how), Reading)

    async def prepare(self, page: Page, *, keep_scripts: bool) -> Prepared:
        """A page that a browser has rendered, for serving."""
        if len(page.body) <= self._small and _is_little(page.text):
            return prepared(page, keep_scripts=keep_scripts)
        return await self._elsewhere(ToPrepare(page, keep_scripts), Prepared)

    async def harvest(self, page: Page, schema: Schema, *, with_text: bool) -> Harvest:
        """Never here: how long it takes depends on the schema too, and that is its caller's."""
        return await self._elsewhere(ToHarvest(page, schema.document, with_text), Harvest)

    async def take_apart(self, page: Page, *, agent: str, most_links: int) -> Parts:
        """Never here: who crawls does it himself with what is quick."""
        return await self._elsewhere(ToTakeApart(page, agent, most_links), Parts)

    async def entries(self, page: Page) -> Entries:
        """The addresses in a sitemap."""
        if sitemap.is_quick(page.body):
            return listed(page.body)
        return await self._elsewhere(ToList(page), Entries)

    async def tell(self, page: Page) -> str:
        """The text of a page, for who searches; likewise."""
        return await self._elsewhere(ToTell(page), str)

    async def audit(self, subject: Subject, form: Form | None = None) -> Audited:
        """Who has many pages of a site gives a `form` that remembers."""
        if is_quick(subject.page):
            return await asyncio.to_thread(audited, subject, form)
        return await self._elsewhere(ToAudit(subject), Audited)

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
            and not how.include
            and not how.exclude
            and _is_little(page.text)
        )

    async def _elsewhere(self, work: Work, wanted: type[M]) -> M:
        async with self._places:
            result = await self._by_another(msgspec.msgpack.encode(work), work.page)
        if isinstance(result, Refusal):
            raise _problem(result)
        assert isinstance(result.made, wanted)  # noqa: S101  (what was asked for)
        return result.made

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


def _is_little(html: str) -> bool:
    return html.count("<") <= FEW_TAGS and most_elements(html) <= FEW_ELEMENTS


async def _start(memory: int, seconds: float) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gossamer.flows.workbench",
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
    worker.stdin.write(len(work).to_bytes(LENGTH) + work)
    await worker.stdin.drain()
    length = int.from_bytes(await worker.stdout.readexactly(LENGTH))
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
