"""Stage: a Gossamer that serves and works, a shop that it can crawl, and people who have signed in."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, BrowserContext, async_playwright

from gossamer.reach.sandbox import chromium
from tests.doors.services import ADMIN_KEY, AS_ADMIN
from tests.forks.forked import Forked
from tests.site.dns import name_server

SHOP = "lantern.example"
PASSWORD = "several words in a row"
SECONDS = 60.0
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@dataclass(frozen=True)
class Person:
    email: str
    cookies: dict[str, str]  # of a session


@dataclass
class Stage:
    url: str  # of the server
    shop: str  # of the shop, as Gossamer knows it
    browser: Browser
    client: httpx.AsyncClient  # as an admin, with the API

    async def person(self, email: str, role: str = "user", tenant: str = "") -> Person:
        """Add a person, who has chosen a password."""
        body = {"email": email, "role": role, "tenant": tenant}
        added = await self.client.post("/api/admin/users", json=body)
        token = added.json()["link"].partition("token=")[2]
        async with httpx.AsyncClient(base_url=self.url, verify=False) as client:
            (
                await client.post("/api/auth/link", json={"token": token, "password": PASSWORD})
            ).raise_for_status()
            return Person(email, dict(client.cookies))

    async def context(
        self, *, scripts: bool = True, dark: bool = False, phone: bool = False
    ) -> BrowserContext:
        """A browser that nobody has used."""
        context = await self.browser.new_context(
            base_url=self.url,
            java_script_enabled=scripts,
            color_scheme="dark" if dark else "light",
            viewport=PHONE if phone else WIDE,  # type: ignore[arg-type]
            locale="en-GB",
            timezone_id="Europe/Berlin",
            reduced_motion="reduce",
        )
        context.set_default_timeout(SECONDS * 1000)
        return context

    async def enter(self, context: BrowserContext, person: Person) -> None:
        """Go on with the session that began with the password."""
        for name, value in person.cookies.items():
            await context.add_cookies([{"name": name, "value": value, "url": self.url, "httpOnly": True}])

    async def sign_in(self, context: BrowserContext, email: str) -> None:
        """On the sign-in page."""
        page = await context.new_page()
        await page.goto("/app/sign-in")
        await page.get_by_label("Email").fill(email)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/app")
        await page.close()

    async def wait(self, path: str, *states: str) -> dict[str, Any]:
        """The document at this address, as soon as its state is one of these."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            document: dict[str, Any] = (await self.client.get(path)).json()
            if document.get("status") in states:
                return document
            await asyncio.sleep(0.1)
        raise AssertionError(document)


@asynccontextmanager
async def staged(folder: Path, shop_port: int, **settings: str) -> AsyncIterator[Stage]:
    async with browsing() as browser, serving(browser, folder, shop_port, **settings) as stage:
        yield stage


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=str(chromium.find("")),
            args=["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def serving(browser: Browser, folder: Path, shop_port: int, **settings: str) -> AsyncIterator[Stage]:
    """A stage for a browser that is there already."""
    async with name_server() as names:
        names.say(SHOP, ("127.0.0.1",))
        names.say("harbour.example", ("127.0.0.1",))
        given = {
            "data_dir": str(folder),
            "port": "0",
            "bootstrap_key": ADMIN_KEY,
            "egress_allow": "127.0.0.0/8",
            "egress_ports": "*",
            "dns_servers": names.address,
            "crawl_delay": "0.05",
            "log_level": "warning",
            "limit_sign_in": "100000/60",
            "limit_anonymous_post": "100000/60",
            **settings,
        }
        process = _serve(given)
        try:
            url = await _address(process)
            async with _client(url) as client:
                yield Stage(url, f"http://{SHOP}:{shop_port}", browser, client)
        finally:
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(process.wait, SECONDS)
            process.communicate()


def _serve(settings: dict[str, str]) -> Forked:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    environment = {**clean, **{f"GOSSAMER_{name.upper()}": value for name, value in settings.items()}}
    return Forked("gossamer", "serve", stdout=subprocess.PIPE, env=environment)


async def _address(process: Forked) -> str:
    assert process.stdout is not None
    line = await asyncio.to_thread(process.stdout.readline)
    return line.partition(" on ")[2].split()[0]


def _client(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers=AS_ADMIN, timeout=SECONDS)
