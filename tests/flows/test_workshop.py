"""Reading in processes of their own: what they cannot do to us, and that none of them stays behind."""

import asyncio
import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.web.pdf_files import pdf

from gossamer.flows.workbench import audited
from gossamer.flows.workshop import FEW_TAGS, Workshop
from gossamer.problems import CONTENT_UNREADABLE, INVALID_SELECTOR, Problem
from gossamer.web import reading, sitemap
from gossamer.web.audit import Subject
from gossamer.web.glance import text_of
from gossamer.web.page import Page
from gossamer.web.parts import take_apart
from gossamer.web.reading import How

SOON = 10.0  # seconds within which what must happen has happened
PARAGRAPH = b"<p>A paragraph of some length, with a comma, and a second sentence. It says little.</p>"
ENDLESS = How(exclude=("x div div div div",))  # on nested elements, longer than anybody lives


def page(body: bytes, media_type: str = "text/html", url: str = "https://site.example/page") -> Page:
    return Page(
        url=url, final_url=url, status=200, headers=(), body=body, media_type=media_type, charset="utf-8"
    )


SMALL = page(b"<h1>Small</h1>" + PARAGRAPH)
LARGE = page(b"<title>Large</title><h1>Large</h1>" + PARAGRAPH * 2000)
NESTED = page(b"<div>" * 900 + b"deep")
FONTS = b"<p>" + b"".join(b"<font color=%d>" % number for number in range(60))  # in every later block
DOCUMENT = page(pdf([["Hello from a PDF"]]), "application/pdf")

MakeWorkshop = Callable[..., Workshop]


@pytest.fixture
async def make_workshop() -> AsyncIterator[MakeWorkshop]:
    made: list[Workshop] = []

    def make(processes: int = 1, **bounds: float) -> Workshop:
        made.append(Workshop(processes, **bounds))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for workshop in made:
        await workshop.close()
    assert workers() == []


def workers(parent: int | None = None) -> list[int]:
    """The processes of our workshops, also those that are dead and not buried."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status, command = (folder / "status").read_text(), (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has gone meanwhile
        is_ours = f"\nPPid:\t{parent or os.getpid()}\n" in status
        if is_ours and (b"gossamer.flows.workbench" in command or not command):
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


async def at_work(workshop: Workshop) -> tuple["asyncio.Task[reading.Reading]", int]:
    """A reading that will never end, and the process that is at it."""
    task = asyncio.create_task(workshop.read(NESTED, ENDLESS))
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
async def test_a_reading_is_the_same_wherever_it_is_done(make_workshop: MakeWorkshop, one: Page) -> None:
    workshop = make_workshop(small=-1)
    for how in (How(), How(main_content=False), How(include=("h1", "td"), exclude=("p",))):
        assert await workshop.read(one, how) == reading.read(one, how)
    assert len(workers()) == 1


@pytest.mark.parametrize(
    ("one", "how"),
    [
        (LARGE, How()),
        (DOCUMENT, How()),
        (page(b"<b>" * (FEW_TAGS + 1)), How()),
        (page(FONTS + b"<p>x" * 800), How()),
        (SMALL, How(include=("h1",))),
        (SMALL, How(exclude=("h1",))),
    ],
    ids=["large", "pdf", "many tags", "many elements", "include", "exclude"],
)
async def test_what_may_take_long_is_not_read_in_place(
    make_workshop: MakeWorkshop, one: Page, how: How
) -> None:
    await make_workshop().read(one, how)
    assert len(workers()) == 1


SITEMAP = b"<urlset><url><loc>https://site.example/a</loc><lastmod>2026-01-01</lastmod></url></urlset>"


async def test_so_is_everything_else(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop()
    linked = page(LARGE.body + b"<a href='/a'>a</a> <a href='/b' rel=nofollow>b</a>" * 500)
    for one in (linked, SMALL, NESTED, page(b"only text", "text/plain"), page(b"")):
        apart = await workshop.take_apart(one, agent="Bot/1", most_links=10)
        assert apart == take_apart(one, agent="Bot/1", most_links=10)
        assert await workshop.tell(one) == text_of(one) == apart.glance.text
    for body in (SITEMAP, gzip.compress(SITEMAP), b"<nonsense>"):
        entries = await workshop.entries(page(body, "application/xml"))
        assert (entries.urls, entries.problem) == (sitemap.read(body).urls, sitemap.read(body).problem)
    for one in (SMALL, linked):
        subject = Subject(page=one, reading=reading.read(one, How()), now=1.0)
        assert await workshop.audit(subject) == audited(subject)
    assert len(workers()) == 1


async def test_little_work_starts_no_process(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop()
    assert (await workshop.read(SMALL, How())).title == "Small"
    with pytest.raises(Problem):
        await workshop.read(page(b"\x89PNG\r\n\x1a\n" + bytes(1_000_000), "image/png"), How())
    await workshop.check(How())
    assert workers() == []


async def test_a_process_is_used_again(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop(2)
    await workshop.read(LARGE, How())
    [first] = workers()
    await workshop.read(DOCUMENT, How())
    assert workers() == [first]


async def test_there_are_never_more_than_so_many(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop(2)
    reads = [asyncio.create_task(workshop.read(LARGE, How())) for _ in range(8)]
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


async def test_killed_at_work_and_the_next_reading_goes_well(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop()
    task, process = await at_work(workshop)
    os.kill(process, signal.SIGKILL)
    problem = await unreadable(task)
    assert problem.members["details"] == {
        "url": "https://site.example/page",
        "reason": "unreadable_content",
        "mediaType": "text/html",
    }
    assert workers() == []
    assert (await workshop.read(LARGE, How())).title == "Large"


async def test_killed_while_idle_and_nobody_notices(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop()
    await workshop.read(LARGE, How())
    [process] = workers()
    os.kill(process, signal.SIGKILL)
    await until(lambda: workers() == [])
    for _ in range(5):
        await asyncio.sleep(0)  # so that the loop has looked at its pipes
    assert (await workshop.read(LARGE, How())).title == "Large"


async def test_too_long_is_killed(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop(seconds=0.8)
    await unreadable(asyncio.create_task(workshop.read(NESTED, ENDLESS)))
    assert workers() == []


async def test_too_long_in_the_middle_of_the_answer_is_killed_too(make_workshop: MakeWorkshop) -> None:
    """What is left in the pipe must not keep us waiting."""
    workshop = make_workshop(seconds=1.0, small=-1)
    await workshop.read(SMALL, How())
    [process] = workers()
    os.kill(process, signal.SIGSTOP)
    task = asyncio.create_task(workshop.read(LARGE, How()))
    await asyncio.sleep(0)
    async with asyncio.timeout(SOON):
        await unreadable(task)
    assert workers() == []


async def test_a_memory_bomb_ends_its_process_alone(make_workshop: MakeWorkshop) -> None:
    line = "x" * 40
    bomb = page(pdf([[line] * 500_000]), "application/pdf")
    assert len(bomb.body) < 100_000
    workshop = make_workshop(memory=256 * 1024 * 1024)
    await unreadable(asyncio.create_task(workshop.read(bomb, How())))
    assert workers() == []
    assert (await workshop.read(LARGE, How())).title == "Large"


async def test_problems_come_through_with_what_they_say(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop()
    with pytest.raises(Problem) as caught:
        await workshop.read(page(b"%PDF-1.7 and then nonsense", "application/pdf"), How())
    assert caught.value.kind is CONTENT_UNREADABLE
    assert caught.value.members["details"] == {"reason": "unreadable_content", "kind": "pdf"}
    for refused in (workshop.read(SMALL, How(include=("a[",))), workshop.check(How(exclude=("a[",)))):
        with pytest.raises(Problem) as caught:
            await refused
        assert caught.value.kind is INVALID_SELECTOR
        assert caught.value.members["details"] == {"selector": "a["}
        assert caught.value.hint
    assert len(workers()) == 1  # which is as good as before


# What is left behind: nothing.


async def test_cancelled_at_work(make_workshop: MakeWorkshop) -> None:
    task, _ = await at_work(make_workshop())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert workers() == []


@pytest.mark.parametrize("steps", [0, 2, 4, 8, 16])
async def test_cancelled_while_it_starts(make_workshop: MakeWorkshop, steps: int) -> None:
    workshop = make_workshop()
    task = asyncio.create_task(workshop.read(NESTED, ENDLESS))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: workers() == [])
    assert (await workshop.read(LARGE, How())).title == "Large"  # and its place is free again


async def test_closed_while_idle_and_at_work(make_workshop: MakeWorkshop) -> None:
    workshop = make_workshop(2)
    task, _ = await at_work(workshop)
    await workshop.read(LARGE, How())
    assert len(workers()) == 2
    await workshop.close()
    await unreadable(task)
    assert workers() == []


async def test_it_knows_no_secrets(make_workshop: MakeWorkshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_BOOTSTRAP_KEY", "sk_live_a-secret-of-the-parent")
    await make_workshop().read(LARGE, How())
    [process] = workers()
    environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    assert {line.partition(b"=")[0] for line in environment if line} == {b"PATH", b"PYTHONPATH"}
    assert b"sk_live" not in Path(f"/proc/{process}/cmdline").read_bytes()


ORPHAN = """
import asyncio
from gossamer.flows.workshop import Workshop
from tests.flows.test_workshop import ENDLESS, NESTED
asyncio.run(Workshop(1, seconds=2.0).read(NESTED, ENDLESS))
"""


def test_left_alone_it_ends_by_itself() -> None:
    """As when the parent was killed in the middle of it."""
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN])
    deadline = time.monotonic() + 60  # the bound is of CPU time, and the machine may be busy
    while not any(map(is_busy, children := workers(parent.pid))):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    while Path(f"/proc/{children[0]}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
