"""A Chromium that we did not start: used behind a fence, refused without one."""

import asyncio
import io
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.browser.remote import Remotes
from gossamer.reach.proxy.proxy import Proxy
from gossamer.reach.sandbox import chromium, chromium_flags, processes
from tests.browser.pages import DONE
from tests.browser.pools import Pool, open_pool
from tests.site.server import Site


@asynccontextmanager
async def started(*flags: str) -> AsyncIterator[str]:
    """A Chromium with a DevTools port on loopback; its address."""
    binary = chromium.find("")
    assert binary is not None
    with tempfile.TemporaryDirectory(prefix="gossamer-remote-", ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            binary,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
            *flags,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            told = Path(folder) / "DevToolsActivePort"
            async with asyncio.timeout(60):
                while not told.exists() or len(told.read_text().splitlines()) < 2:
                    await asyncio.sleep(0.02)
            yield f"http://127.0.0.1:{told.read_text().splitlines()[0]}"
        finally:
            await processes.end(process.pid, seconds=5)
            await process.wait()


@asynccontextmanager
async def pool_on(address: str, proxy: Proxy, stream: io.StringIO) -> AsyncIterator[Pool]:
    remotes = Remotes(address, f"http://127.0.0.1:{proxy.port}", proxy, Log(stream))
    await remotes.open()
    try:
        async with open_pool(proxy=proxy, launcher=remotes) as pool:
            yield pool
    finally:
        await remotes.close()


async def popups(pool: Pool) -> int:
    deadline = asyncio.get_running_loop().time() + 10
    found = await pool.running[0]._connection.browser.ask(dict[str, list[Any]], "Target.getTargets", deadline)
    return sum("openerId" in target for target in found["targetInfos"])


async def test_a_fenced_chromium_elsewhere_is_used(site: Site) -> None:
    stream = io.StringIO()
    async with open_pool() as own:
        proxy = own.browsers._proxy
        async with (
            started(*chromium_flags.fence(proxy.port)) as address,
            pool_on(address, proxy, stream) as pool,
        ):
            rendered = await asyncio.gather(*(pool.visit(site.url(f"/page/fetched?{n}")) for n in range(3)))
            assert all(DONE in each.page.text for each in rendered)
            assert stream.getvalue().count("browser_fenced") == 1
            # This one refuses frames that are not drawn, so its pages are.
            drawn = await pool.visit(site.url("/page/drawn"))
            assert DONE in drawn.page.text
            assert 'class="drawn"' in drawn.page.text
            assert await pool.contexts() == 0
            opener = await pool.visit(site.url("/page/popups?elsewhere"))
            assert DONE in opener.page.text
            assert await pool.contexts() == 0
            assert await popups(pool) == 0


async def test_a_chromium_elsewhere_that_is_not_fenced_is_refused(site: Site) -> None:
    stream = io.StringIO()
    async with open_pool() as own:
        proxy = own.browsers._proxy
        async with started() as address, pool_on(address, proxy, stream) as pool:
            with pytest.raises(Unavailable, match="past our proxy"):
                await pool.visit(site.url("/ok"))
            assert "browser_not_fenced" in stream.getvalue()


async def test_an_address_where_nobody_is_is_unavailable(site: Site) -> None:
    async with open_pool() as own, pool_on("http://127.0.0.1:9", own.browsers._proxy, io.StringIO()) as pool:
        with pytest.raises(Unavailable):
            await pool.browsers.ping()
