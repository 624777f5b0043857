"""Parser pool: parses pages that may take much time or memory in processes that can be killed.

A small page is parsed in place, in a few milliseconds. Large pages, PDFs and anything unpredictable go to a
child process (`parser_process`) with bounded memory and time. Its result is bounded too, and is decoded as
data of a known shape.

    what                            bound
    memory of one child             `memory`, which the system enforces: beyond it the page is unreadable
    memory of all children          `processes` times `memory`
    memory that an idle child keeps `MAX_IDLE_BYTES`: a child that has grown beyond it is replaced
    a result                        `MAX_RESULT_BYTES`: the child refuses to send a larger one
"""

import asyncio
import contextlib
import os
import resource
import sys
from pathlib import Path
from typing import Any, Final, TypeVar, cast, get_type_hints

import msgspec

from gossamer import problems
from gossamer.flows.parsers.parser_process import (
    LENGTH_BYTES,
    MAX_RESULT_BYTES,
    AuditedPage,
    AuditTask,
    CompareTask,
    ExtractTask,
    LinksTask,
    ParserRefusal,
    ParserResult,
    Prepared,
    PrepareTask,
    ReadTask,
    SitemapTask,
    SketchTask,
    TakeApartTask,
    Task,
    TextTask,
    TryRulesTask,
)
from gossamer.problems import Problem, Unavailable
from gossamer.reach.sandbox import allocator
from gossamer.web.audit.page.subject import Subject
from gossamer.web.audit.site.site_page import Normalise, normalise
from gossamer.web.content.recurring import BlockSketch
from gossamer.web.crawl.parts import PageParts, is_quick
from gossamer.web.documents.documents import path_of
from gossamer.web.documents.kind import READABLE, ContentKind, kind_of
from gossamer.web.extract.extraction import Extraction
from gossamer.web.extract.schema.schema import Schema
from gossamer.web.html.links import Link
from gossamer.web.html.sanitise import max_elements
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import Reading
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.robots import sitemap
from gossamer.web.robots.sitemap import Entries
from gossamer.web.search.passages import OutlinedText
from gossamer.web.sites.page_facts import PageSight
from gossamer.web.sites.rule_trial import SiteRuleTrial
from gossamer.web.sites.site_rule import SiteRule, hide_headers

# A page is parsed in place if it is within all three bounds. A tag may cost 30 µs.
MAX_BODY_IN_PLACE: Final = 64 * 1024  # bytes
MAX_TAGS_IN_PLACE: Final = 1000
MAX_ELEMENTS_IN_PLACE: Final = 1500

TASK_SECONDS: Final = 10.0
MEMORY: Final = 512 * 1024**2  # bytes of data of one child
MAX_IDLE_BYTES: Final = 160 * 1024**2
PIPE_PIECE: Final = 128 * 1024  # bytes that go through a pipe at a time, so that other tasks get their turns
LARGE_MESSAGE: Final = 1024**2  # bytes; a larger task makes us return freed memory to the system afterwards
TRIM_SECONDS: Final = 1.0
PAGE_BYTES: Final = resource.getpagesize()
_IN_PLACE: Final = frozenset({ContentKind.HTML, ContentKind.TEXT, ContentKind.MARKDOWN, ContentKind.JSON})
_NO_PAGE: Final = Page(
    url="", final_url="", status=200, headers=(), body=b"", media_type="text/html", charset="utf-8"
)

_READING_FIELDS: Final = get_type_hints(Reading)
T = TypeVar("T")


class ParserPool:
    def __init__(
        self,
        processes: int,
        *,
        seconds: float = TASK_SECONDS,
        small: int = MAX_BODY_IN_PLACE,
        memory: int = MEMORY,
        tesseract: str = "",
    ) -> None:
        """`tesseract` is the path of the engine that recognises the text of scans, if there is one."""
        self._seconds = seconds
        self._small = small
        self._memory = memory
        self._tesseract = tesseract
        self._places = asyncio.Semaphore(processes)
        self._idle: list[asyncio.subprocess.Process] = []
        self._busy: set[asyncio.subprocess.Process] = set()
        self._closed = False
        self._trimming: asyncio.TimerHandle | None = None

    async def read(self, page: Page, options: ReadingOptions) -> Reading:
        task = ReadTask(page, options)
        return task.run() if self.reads_in_place(page, options) else await self._run(task, Reading)

    async def prepare(self, page: Page, *, keep_scripts: bool) -> Prepared:
        """Prepare a page that a browser has rendered for serving."""
        task = PrepareTask(page, keep_scripts)
        if len(page.body) <= self._small and _is_small(page.text):
            return task.run()
        return await self._run(task, Prepared)

    async def extract(self, page: Page, schema: Schema, *, with_text: bool) -> Extraction:
        """Always in a child: the time depends on the schema too, and the schema is the caller's."""
        return await self._run(ExtractTask(page, schema.document, with_text), Extraction)

    async def take_apart(self, page: Page, *, agent: str, max_links: int) -> PageParts:
        """Always in a child: a crawl takes quick pages apart itself."""
        return await self._run(TakeApartTask(page, agent, max_links), PageParts)

    async def read_sitemap(self, page: Page) -> Entries:
        """The addresses in a sitemap."""
        task = SitemapTask(page)
        return task.run() if sitemap.is_quick(page.body) else await self._run(task, Entries)

    async def extract_text(self, page: Page) -> OutlinedText:
        """The text of a page with its headings, for the search index. Always in a child."""
        return await self._run(TextTask(page), OutlinedText)

    async def find_links(self, page: Page) -> tuple[Link, ...]:
        """Always in a child: whoever asks does so for many pages in a row."""
        return await self._run(LinksTask(page), tuple[Link, ...])

    async def sketch(self, page: Page) -> BlockSketch:
        """The blocks of a page, to be compared with other pages of its host."""
        task = SketchTask(page)
        return (
            task.run() if self.reads_in_place(page, ReadingOptions()) else await self._run(task, BlockSketch)
        )

    async def audit(self, subject: Subject, normal: Normalise = normalise) -> AuditedPage:
        """For many pages of one site, `normal` may be a cached `normalise`."""
        task = AuditTask(subject)
        if is_quick(subject.page):
            return await asyncio.to_thread(task.run, normal)
        return await self._run(task, AuditedPage)

    async def try_rules(self, page: Page, rules: tuple[SiteRule, ...], home: str) -> SiteRuleTrial:
        """Always in a child: a selector may take very long."""
        return await self._run(TryRulesTask(page, hide_headers(rules), home), SiteRuleTrial)

    async def compare(self, raw: Page, rendered: Page) -> PageSight:
        """What is there of a page before its scripts have run. Always in a child."""
        return await self._run(CompareTask(raw, rendered), PageSight)

    async def check_selectors(self, options: ReadingOptions) -> None:
        """Raise `Problem` for a bad selector of the caller's, before a page is fetched for it."""
        if options.include or options.exclude:
            await self.read(_NO_PAGE, options)

    def reads_in_place(self, page: Page, options: ReadingOptions) -> bool:
        """Whether it takes little work, or none because it is refused. A selector may take very long."""
        kind = kind_of(page.media_type, page.body, path_of(page.final_url))
        if kind not in READABLE:
            return True
        small = self._small if options.max_tokens is None else self._small // 4  # a brief takes more work
        return (
            len(page.body) <= small
            and kind in _IN_PLACE
            and not options.include
            and not options.exclude
            and _is_small(page.text)
        )

    async def close(self) -> None:
        """End every child. A task that still runs fails as unreadable."""
        self._closed = True
        if self._trimming is not None:
            self._trimming.cancel()
        for child in self._busy:
            _kill(child)
        while self._idle:
            await _end(self._idle.pop())

    async def _run(self, task: Task, result_type: type[T]) -> T:
        """Run a task in a child process."""
        async with self._places:
            reply = await self._ask_child(msgspec.msgpack.encode(task), task.page, result_type)
        if isinstance(reply, ParserRefusal):
            raise _problem(reply)
        return reply

    async def _ask_child(self, task: bytes, page: Page, result_type: type[T]) -> T | ParserRefusal:
        child = await self._take_child()
        self._busy.add(child)
        done = False
        try:
            async with asyncio.timeout(self._seconds):
                reply = await decode_reply(await _exchange(child, task), result_type)
            done = True
        except (TimeoutError, EOFError, OSError, msgspec.MsgspecError):
            raise _unreadable(page) from None
        finally:
            self._busy.discard(child)
            if len(task) > LARGE_MESSAGE:
                self._trim_soon()
            if done and not self._closed and _memory_of(child) <= MAX_IDLE_BYTES:
                self._idle.append(child)
            else:  # late, dead, cancelled or grown
                await asyncio.shield(_end(child))
        return reply

    def _trim_soon(self) -> None:
        if self._trimming is None or self._trimming.when() <= asyncio.get_running_loop().time():
            self._trimming = asyncio.get_running_loop().call_later(TRIM_SECONDS, allocator.trim)

    async def _take_child(self) -> asyncio.subprocess.Process:
        while self._idle:
            child = self._idle.pop()
            if child.stdout is not None and not child.stdout.at_eof():
                return child
            await _end(child)  # it died while it was idle
        return await _start(self._memory, self._seconds, self._tesseract)


def _is_small(html: str) -> bool:
    return html.count("<") <= MAX_TAGS_IN_PLACE and max_elements(html) <= MAX_ELEMENTS_IN_PLACE


async def _start(memory: int, seconds: float, tesseract: str = "") -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gossamer.flows.parsers.parser_process",
            str(memory),
            str(seconds),
            tesseract,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=PIPE_PIECE,
            env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # a Ctrl-C reaches only us, and we end the child
        )
    except OSError as error:
        raise Unavailable("reader of large pages", error.strerror or "it cannot be started") from error


async def _exchange(child: asyncio.subprocess.Process, task: bytes) -> bytearray:
    """Send a task and receive the reply to it."""
    assert child.stdin is not None  # noqa: S101  (opened as pipes)
    assert child.stdout is not None  # noqa: S101
    child.stdin.write(len(task).to_bytes(LENGTH_BYTES))
    whole = memoryview(task)
    for start in range(0, len(task), PIPE_PIECE):
        child.stdin.write(whole[start : start + PIPE_PIECE])
        await child.stdin.drain()
    length = int.from_bytes(await child.stdout.readexactly(LENGTH_BYTES))
    if length > MAX_RESULT_BYTES:
        raise EOFError
    return await _receive(child.stdout, length)


async def _receive(source: asyncio.StreamReader, length: int) -> bytearray:
    """By pieces: `readexactly` gathers the whole first, and then copies it twice."""
    data, at = bytearray(length), 0
    while at < length:
        piece = await source.read(min(PIPE_PIECE, length - at))
        if not piece:
            raise EOFError
        data[at : at + len(piece)] = piece
        at += len(piece)
    return data


class _RawResult(msgspec.Struct, array_like=True, tag=ParserResult.__name__):
    value: msgspec.Raw


async def decode_reply(data: bytearray, result_type: type[T]) -> T | ParserRefusal:
    reply = msgspec.msgpack.decode(data, type=_RawResult | ParserRefusal)
    if isinstance(reply, ParserRefusal):
        return reply
    if result_type is Reading and len(data) > LARGE_MESSAGE:
        return cast("T", await _decode_reading(reply.value))
    return msgspec.msgpack.decode(reply.value, type=result_type)


async def _decode_reading(data: msgspec.Raw) -> Reading:
    """Decode a long reading field by field: each may take 20 ms, and other tasks get their turns between."""
    fields: dict[str, Any] = {}
    for field, raw in msgspec.msgpack.decode(data, type=dict[str, msgspec.Raw]).items():
        fields[field] = msgspec.msgpack.decode(raw, type=_READING_FIELDS.get(field, Any))
        await asyncio.sleep(0)
    try:
        return Reading(**fields)
    except TypeError as error:  # a field is missing, or is none of a reading
        raise msgspec.ValidationError(str(error)) from None


def _memory_of(child: asyncio.subprocess.Process) -> int:
    """Bytes of memory that it has now."""
    try:
        pages = int(Path(f"/proc/{child.pid}/statm").read_bytes().split()[1])
    except (OSError, IndexError):  # it is gone, or the system has no such file
        return 0
    return pages * PAGE_BYTES


async def _end(child: asyncio.subprocess.Process) -> None:
    """Kill it and wait until it is gone. Its output is read to the end, or the pipe would stay open."""
    _kill(child)
    await child.communicate()
    if child.stdin is not None:
        child.stdin.close()


def _kill(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.kill()


def _unreadable(page: Page) -> Problem:
    return Problem(
        problems.CONTENT_UNREADABLE,
        "The target's answer takes too much time or memory to read.",
        details={"url": page.final_url, "reason": "unreadable_content", "mediaType": page.media_type},
    )


def _problem(refusal: ParserRefusal) -> Problem:
    kind = problems.KINDS[refusal.name]
    return Problem(kind, refusal.detail, hint=refusal.hint, details=refusal.details or None)
