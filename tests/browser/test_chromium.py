"""The process: how it starts, what it is kept in by, what it says, and that its end is complete."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from gossamer.problems import Unavailable
from gossamer.reach.sandbox import processes
from gossamer.reach.sandbox.chromium import find, launch
from gossamer.reach.sandbox.fence import Layers
from tests.browser.driver import PLENTY, SECONDS, binary, chromium, now, tab, yard


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Where folders are made, by us and by those that we start; its path is short, for sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="g") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def folders() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("gossamer-browser-*"))


async def gone(pids: list[int]) -> bool:
    """Whether, within some seconds, none of them is running."""
    for _ in range(int(SECONDS * 50)):
        if not [pid for pid in pids if running(pid)]:
            return True
        await asyncio.sleep(0.02)
    return False


def running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


async def test_it_is_kept_in_by_all_that_the_system_allows() -> None:
    async with yard() as place, chromium(place.proxy) as browser:
        assert (browser.layers.netns, browser.layers.sandbox, browser.layers.bubblewrap) == (True, True, True)
        assert "Chrome/" in browser.version
        async with tab(browser, place.proxy.admit(PLENTY, now() + SECONDS)) as page:
            await page.navigate("data:text/html,<title>here</title>")
            await page.until("document.title == 'here'")
            members = [psutil.Process(pid) for pid in processes.list_family(browser.pid)]
            renderers = [each for each in members if "--type=renderer" in each.cmdline()]
            assert renderers
            for renderer in renderers:
                status = Path(f"/proc/{renderer.pid}/status").read_text()
                assert "Seccomp:\t2" in status
                assert len(status.partition("NSpid:")[2].partition("\n")[0].split()) > 2  # in two namespaces
            ours = os.readlink("/proc/self/ns/net")
            assert ours not in {os.readlink(f"/proc/{each.pid}/ns/net") for each in members}
            assert not [each for each in members if each.net_connections("udp")]
        # No debugging port, none of our environment, and no flag that takes a protection away.
        command = " ".join(members[-1].cmdline())
        assert 50_000_000 < browser.memory() < 2_000_000_000
        for flag in ("ipc-flooding", "popup-blocking", "hang-monitor", "debugging-port", "no-sandbox"):
            assert flag not in command
        assert not any("PYTEST_CURRENT_TEST" in each.environ() for each in members)
        assert "warning" not in place.log.getvalue()


async def test_messages_of_any_size_pass() -> None:
    async with (
        yard() as place,
        chromium(place.proxy) as browser,
        tab(browser, place.proxy.admit(PLENTY, now() + SECONDS)) as page,
    ):
        assert len(await page.evaluate("'ü'.repeat(5_000_000)")) == 5_000_000
        assert await page.evaluate(f"{json.dumps('x' * 3_000_000)}.length") == 3_000_000
        together = await asyncio.gather(*(page.evaluate(f"{number} * 2") for number in range(500)))
        assert together == [number * 2 for number in range(500)]


@pytest.mark.parametrize("bubblewrap", [True, False])
async def test_its_end_is_complete(bubblewrap: bool) -> None:
    async with yard() as place:
        browser = await launch(
            binary(), place.proxy, layers=Layers(bubblewrap=bubblewrap), deadline=now() + SECONDS
        )
        family = processes.list_family(browser.pid)
        assert len(family) > 3
        assert len(folders()) == 1
        await asyncio.gather(browser.kill(), browser.kill())
        await browser.kill()
        assert await gone(family)
        assert await browser.receive() is None
        await browser.send(b"{}")  # into the void
        assert browser.memory() == 0
    assert folders() == []


async def test_a_browser_that_dies_is_noticed() -> None:
    async with yard() as place, chromium(place.proxy) as browser:
        family = processes.list_family(browser.pid)
        os.kill(max(family), signal.SIGKILL)  # any of its processes may go
        os.kill(browser.pid, signal.SIGKILL)
        async with asyncio.timeout(SECONDS):
            assert await browser.receive() is None
        assert await gone(family)


@asynccontextmanager
async def owner(*words: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, dict[str, Any]]]:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout is not None
    try:
        yield process, json.loads(await process.stdout.readline())
    finally:
        if process.returncode is None:
            os.kill(process.pid, signal.SIGKILL)
        await process.communicate()


@pytest.mark.parametrize("bubblewrap", ["bubblewrap", "bare"])
async def test_it_does_not_outlive_who_started_it(bubblewrap: str) -> None:
    async with owner(sys.executable, "-m", "tests.browser.owner", bubblewrap) as (process, told):
        assert told["bubblewrap"] == (bubblewrap == "bubblewrap")
        assert running(told["pid"])
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        assert await gone(told["family"])
    # Its folder is left, and removed by whoever starts the next one.
    assert len(folders()) == 1
    async with yard() as place, chromium(place.proxy):
        assert len(folders()) == 1
    assert folders() == []


async def test_somebody_without_rights_has_all_of_it_too() -> None:
    somebody = ("unshare", "--user", "--map-user=1234", "--map-group=1234")
    command = (sys.executable, "-m", "tests.browser.owner", "bubblewrap")
    async with owner(*somebody, *command) as (process, told):
        assert (told["netns"], told["sandbox"], told["bubblewrap"]) == (True, True, True)
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0


async def test_where_the_system_allows_nothing_the_first_layer_is_left_and_the_log_says_so() -> None:
    nothing = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    system = ("unshare", "--user", "--map-root-user", "sh", "-c", nothing, "sh")
    async with owner(*system, sys.executable, "-m", "tests.browser.owner", "bare") as (_, told):
        assert (told["netns"], told["sandbox"], told["bubblewrap"]) == (False, False, False)
        assert told["log"].count('"browser_not_in_netns"') == 1
        assert told["log"].count('"browser_not_sandboxed"') == 1


async def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    mute, broken = tmp_path / "mute", tmp_path / "broken"
    mute.write_text("#!/bin/sh\nwhile :; do sleep 1; done\n")
    broken.write_text("#!/bin/sh\necho the library is missing >&2\nexit 1\n")
    for script in (mute, broken):
        script.chmod(0o755)
    async with yard() as place:
        for program, seconds, why in (
            (broken, SECONDS, "the library is missing"),
            (mute, 0.5, "did not start in time"),
            (tmp_path / "nothing", SECONDS, "nothing: No such file"),
        ):
            with pytest.raises(Unavailable, match=why):
                await launch(program, place.proxy, layers=Layers(bubblewrap=False), deadline=now() + seconds)
        attempt = asyncio.create_task(launch(mute, place.proxy, deadline=now() + SECONDS))
        await asyncio.sleep(0.2)
        attempt.cancel()
        await asyncio.gather(attempt, return_exceptions=True)
    assert folders() == []
    everyone = psutil.process_iter(["cmdline"])
    assert await gone([each.pid for each in everyone if str(mute) in (each.info["cmdline"] or ())])


def test_the_one_that_is_named_is_found(tmp_path: Path) -> None:
    named = tmp_path / "mine"
    named.write_text("#!/bin/sh\n")
    assert find(str(named)) is None  # it cannot be run
    named.chmod(0o755)
    assert find(str(named)) == named
    assert find(str(tmp_path / "nothing")) is None
    assert find("") is not None


async def test_children_that_went_their_own_way_are_found_and_ended() -> None:
    script = "setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000 & wait"
    process = await asyncio.create_subprocess_exec("sh", "-c", script, start_new_session=True)
    async with asyncio.timeout(SECONDS):
        while len(processes.list_family(process.pid)) < 3:
            await asyncio.sleep(0.01)
    family = processes.list_family(process.pid)
    assert await processes.end(process.pid, seconds=SECONDS) == []
    await process.wait()
    assert await gone(family)
