"""Reading in processes of their own: what they cannot do to us, and that none of them stays behind."""

import asyncio
import gzip
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.servers.daemon import freeze
from tests.site.hostile import page_of
from tests.site.hostile import text_of as drawn
from tests.web.documents.pdf_files import pdf

from gossamer.flows.parsers.parser_pool import MAX_TAGS_IN_PLACE, ParserPool
from gossamer.flows.parsers.parser_process import AuditTask
from gossamer.problems import CONTENT_UNREADABLE, INVALID_SELECTOR, Problem
from gossamer.web.audit.page.subject import Subject
from gossamer.web.crawl.crawl_view import outlined_text_of
from gossamer.web.crawl.parts import take_apart
from gossamer.web.pages import reading
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.robots import sitemap

SOON = 10.0  # seconds within which what must happen has happened
PARAGRAPH = b"<p>A paragraph of some length, with a comma, and a second sentence. It says little.</p>"
ENDLESS = ReadingOptions(exclude=("x div div div div",))  # on nested elements, longer than anybody lives


def page(body: bytes, media_type: str = "text/html", url: str = "https://site.example/page") -> Page:
    return Page(
        url=url, final_url=url, status=200, headers=(), body=body, media_type=media_type, charset="utf-8"
    )


SMALL = page(b"<h1>Small</h1>" + PARAGRAPH)
LARGE = page(b"<title>Large</title><h1>Large</h1>" + PARAGRAPH * 2000)
NESTED = page(b"<div>" * 900 + b"deep")
FONTS = b"<p>" + b"".join(b"<font color=%d>" % number for number in range(60))  # in every later block
DOCUMENT = page(pdf([["Hello from a PDF"]]), "application/pdf")

MakePool = Callable[..., ParserPool]


@pytest.fixture
async def make_pool() -> AsyncIterator[MakePool]:
    made: list[ParserPool] = []

    def make(processes: int = 1, **bounds: float) -> ParserPool:
        made.append(ParserPool(processes, **bounds))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for parsers in made:
        await parsers.close()
    assert workers() == []


def workers(parent: int | None = None) -> list[int]:
    """The processes of our pools, zombies included."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status, command = (folder / "status").read_text(), (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has gone meanwhile
        is_ours = f"\nPPid:\t{parent or os.getpid()}\n" in status
        if is_ours and (b"gossamer.flows.parsers.parser_process" in command or not command):
            found.append(int(folder.name))
    return found


async def until(happens: Callable[[], object]) -> None:
    async with asyncio.timeout(SOON):
        while not happens():
            await asyncio.sleep(0.01)


def is_busy(process: int) -> bool:
    """It has used half a second of CPU, so it is beyond its start."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 0.5


async def at_work(parsers: ParserPool) -> tuple["asyncio.Task[reading.Reading]", int]:
    """A reading that will never end, and the process that is at it."""
    task = asyncio.create_task(parsers.read(NESTED, ENDLESS))
    await until(lambda: any(map(is_busy, workers())))
    [process] = workers()
    return task, process


@pytest.mark.parametrize(
    "one",
    [
        SMALL,
        LARGE,
        DOCUMENT,
        page(b'{"name": "value", "list": [1, 2]}', "application/json"),
        page(b"a,b\n1,2\n", "text/csv"),
        page(b"<rss><channel><title>News</title><item><title>One</title></item></channel></rss>", "text/xml"),
        page(b"just text", "text/plain"),
        page(b"\xff\xfe broken \xc3( text", "text/html"),
        page(b"", "text/html"),
    ],
    ids=lambda one: f"{one.media_type}-{len(one.body)}",
)
async def test_a_reading_is_the_same_wherever_it_is_done(make_pool: MakePool, one: Page) -> None:
    parsers = make_pool(small=-1)
    for how in (
        ReadingOptions(),
        ReadingOptions(main_content=False),
        ReadingOptions(include=("h1", "td"), exclude=("p",)),
    ):
        assert await parsers.read(one, how) == reading.read(one, how)
    assert len(workers()) == 1


@pytest.mark.parametrize(
    ("one", "how"),
    [
        (LARGE, ReadingOptions()),
        (DOCUMENT, ReadingOptions()),
        (page(b"<b>" * (MAX_TAGS_IN_PLACE + 1)), ReadingOptions()),
        (page(FONTS + b"<p>x" * 800), ReadingOptions()),
        (SMALL, ReadingOptions(include=("h1",))),
        (SMALL, ReadingOptions(exclude=("h1",))),
    ],
    ids=["large", "pdf", "many tags", "many elements", "include", "exclude"],
)
async def test_what_may_take_long_is_not_read_in_place(
    make_pool: MakePool, one: Page, how: ReadingOptions
) -> None:
    await make_pool().read(one, how)
    assert len(workers()) == 1


SITEMAP = b"<urlset><url><loc>https://site.example/a</loc><lastmod>2026-01-01</lastmod></url></urlset>"


async def test_so_is_everything_else(make_pool: MakePool) -> None:
    parsers = make_pool()
    linked = page(LARGE.body + b"<a href='/a'>a</a> <a href='/b' rel=nofollow>b</a>" * 500)
    for one in (linked, SMALL, NESTED, page(b"only text", "text/plain"), page(b"")):
        apart = await parsers.take_apart(one, agent="Bot/1", max_links=10)
        assert apart == take_apart(one, agent="Bot/1", max_links=10)
        outlined = await parsers.extract_text(one)
        assert outlined == outlined_text_of(one)
        assert outlined.text.split() == apart.view.text.split()
    for body in (SITEMAP, gzip.compress(SITEMAP), b"<nonsense>"):
        entries = await parsers.read_sitemap(page(body, "application/xml"))
        assert (entries.urls, entries.problem) == (sitemap.read(body).urls, sitemap.read(body).problem)
    for one in (SMALL, linked):
        subject = Subject(page=one, reading=reading.read(one, ReadingOptions()), now=1.0)
        assert await parsers.audit(subject) == AuditTask(subject).run()
    assert len(workers()) == 1


async def test_little_work_starts_no_process(make_pool: MakePool) -> None:
    parsers = make_pool()
    assert (await parsers.read(SMALL, ReadingOptions())).title == "Small"
    with pytest.raises(Problem):
        await parsers.read(page(b"\x89PNG\r\n\x1a\n" + bytes(1_000_000), "image/png"), ReadingOptions())
    await parsers.check_selectors(ReadingOptions())
    assert workers() == []


async def test_a_process_is_used_again(make_pool: MakePool) -> None:
    parsers = make_pool(2)
    await parsers.read(LARGE, ReadingOptions())
    [first] = workers()
    await parsers.read(DOCUMENT, ReadingOptions())
    assert workers() == [first]


async def test_there_are_never_more_than_so_many(make_pool: MakePool) -> None:
    parsers = make_pool(2)
    reads = [asyncio.create_task(parsers.read(LARGE, ReadingOptions())) for _ in range(8)]
    most = 0
    while not all(task.done() for task in reads):
        most = max(most, len(workers()))
        await asyncio.sleep(0.005)
    assert {task.result().title for task in reads} == {"Large"}
    assert most == 2


# What goes wrong.


async def unreadable(read: "asyncio.Task[reading.Reading]") -> Problem:
    with pytest.raises(Problem) as caught:
        await read
    assert caught.value.kind is CONTENT_UNREADABLE
    return caught.value


async def test_killed_at_work_and_the_next_reading_goes_well(make_pool: MakePool) -> None:
    parsers = make_pool()
    task, process = await at_work(parsers)
    os.kill(process, signal.SIGKILL)
    problem = await unreadable(task)
    assert problem.members["details"] == {
        "url": "https://site.example/page",
        "reason": "unreadable_content",
        "mediaType": "text/html",
    }
    assert workers() == []
    assert (await parsers.read(LARGE, ReadingOptions())).title == "Large"


async def test_killed_while_idle_and_nobody_notices(make_pool: MakePool) -> None:
    parsers = make_pool()
    await parsers.read(LARGE, ReadingOptions())
    [process] = workers()
    os.kill(process, signal.SIGKILL)
    await until(lambda: workers() == [])
    for _ in range(5):
        await asyncio.sleep(0)  # so that the loop has looked at its pipes
    assert (await parsers.read(LARGE, ReadingOptions())).title == "Large"


async def test_too_long_is_killed(make_pool: MakePool) -> None:
    parsers = make_pool(seconds=0.8)
    await unreadable(asyncio.create_task(parsers.read(NESTED, ENDLESS)))
    assert workers() == []


async def test_too_long_in_the_middle_of_the_answer_is_killed_too(make_pool: MakePool) -> None:
    """What is left in the pipe must not keep us waiting."""
    parsers = make_pool(seconds=SOON, small=-1)
    await parsers.read(SMALL, ReadingOptions())
    [process] = workers()
    freeze(process)
    parsers._seconds = 0.1  # it has started, so whatever the machine does, it never answers
    task = asyncio.create_task(parsers.read(LARGE, ReadingOptions()))
    await asyncio.sleep(0)
    async with asyncio.timeout(SOON):
        await unreadable(task)
    assert workers() == []


async def test_a_memory_bomb_ends_its_process_alone(make_pool: MakePool) -> None:
    """One that nobody sees before it goes off: what is packed is written in hexadecimal digits."""
    packed = zlib.compress(drawn(b"(xxxxxxxxxxxxxxxxxxxx) Tj " * 500_000)).hex().encode()
    contents = b"<< /Length %d /Filter [/ASCIIHexDecode /FlateDecode] >> stream\n%b\nendstream"
    bomb = page(page_of(contents % (len(packed), packed)), "application/pdf")
    assert len(bomb.body) < 200_000
    parsers = make_pool(memory=256 * 1024 * 1024)
    await unreadable(asyncio.create_task(parsers.read(bomb, ReadingOptions())))
    assert workers() == []
    assert (await parsers.read(LARGE, ReadingOptions())).title == "Large"


async def test_problems_come_through_with_what_they_say(make_pool: MakePool) -> None:
    parsers = make_pool()
    with pytest.raises(Problem) as caught:
        await parsers.read(page(b"%PDF-1.7 and then nonsense", "application/pdf"), ReadingOptions())
    assert caught.value.kind is CONTENT_UNREADABLE
    assert caught.value.members["details"] == {"reason": "unreadable_content", "kind": "pdf"}
    for refused in (
        parsers.read(SMALL, ReadingOptions(include=("a[",))),
        parsers.check_selectors(ReadingOptions(exclude=("a[",))),
    ):
        with pytest.raises(Problem) as caught:
            await refused
        assert caught.value.kind is INVALID_SELECTOR
        assert caught.value.members["details"] == {"selector": "a["}
        assert caught.value.hint
    assert len(workers()) == 1  # which is as good as before


# What is left behind: nothing.


async def test_cancelled_at_work(make_pool: MakePool) -> None:
    task, _ = await at_work(make_pool())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert workers() == []


@pytest.mark.parametrize("steps", [0, 2, 4, 8, 16])
async def test_cancelled_while_it_starts(make_pool: MakePool, steps: int) -> None:
    parsers = make_pool()
    task = asyncio.create_task(parsers.read(NESTED, ENDLESS))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: workers() == [])
    assert (await parsers.read(LARGE, ReadingOptions())).title == "Large"  # and its place is free again


async def test_closed_while_idle_and_at_work(make_pool: MakePool) -> None:
    parsers = make_pool(2)
    task, _ = await at_work(parsers)
    await parsers.read(LARGE, ReadingOptions())
    assert len(workers()) == 2
    await parsers.close()
    await unreadable(task)
    assert workers() == []


async def test_it_knows_no_secrets(make_pool: MakePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_BOOTSTRAP_KEY", "sk_live_a-secret-of-the-parent")
    await make_pool().read(LARGE, ReadingOptions())
    [process] = workers()
    environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    assert {line.partition(b"=")[0] for line in environment if line} == {b"PATH", b"PYTHONPATH"}
    assert b"sk_live" not in Path(f"/proc/{process}/cmdline").read_bytes()


ORPHAN = """
import asyncio
import msgspec
from gossamer.flows.parsers.parser_process import ReadTask
from gossamer.flows.parsers.parser_pool import MEMORY, _exchange, _start
from tests.flows.test_parser_pool import ENDLESS, NESTED

async def main():  # without a deadline: the child's own bound is what ends it
    worker = await _start(MEMORY, 2.0)
    await _exchange(worker, msgspec.msgpack.encode(ReadTask(NESTED, ENDLESS)))

asyncio.run(main())
"""


def test_left_alone_it_ends_by_itself() -> None:
    """As when the parent was killed in the middle of it."""
    with subprocess.Popen([sys.executable, "-c", ORPHAN]) as parent:
        try:
            wait_until(lambda: any(map(is_busy, workers(parent.pid))))
            [child] = workers(parent.pid)
        finally:
            parent.kill()
    wait_until(lambda: not Path(f"/proc/{child}").exists())


def wait_until(happens: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120  # what is waited for takes CPU time, and the machine may be busy
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)
