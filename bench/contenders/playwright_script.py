"""A bare Playwright script as one writes it: a context for each page, and what is wanted when it is idle.

It has an environment of its own.
"""

import base64
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from playwright.async_api import (
    Error,
    async_playwright,
)

from bench.contenders.chromium import DEADLINE, flags
from bench.contenders.worker import ReadAsync, serve_tasks


@asynccontextmanager
async def reader(binary: str, wanted: str) -> AsyncIterator[ReadAsync]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=binary, args=flags())

        async def read(url: str) -> str:
            context = await browser.new_context(viewport={"width": 1280, "height": 720})
            try:
                page = await context.new_page()
                await page.goto(url, wait_until="networkidle", timeout=DEADLINE * 1000)
                return await _made(page, wanted)
            except Error:
                return ""  # it failed
            finally:
                await context.close()

        try:
            yield read
        finally:
            await browser.close()


async def _made(page: Any, wanted: str) -> str:
    if wanted == "content":
        return str(await page.content())
    if wanted == "pdf":
        return base64.b64encode(await page.pdf(format="A4")).decode()
    picture = await page.screenshot(full_page=wanted == "full page", timeout=DEADLINE * 1000)
    return base64.b64encode(picture).decode()


if __name__ == "__main__":
    serve_tasks(version("playwright"), reader(sys.argv[1], sys.argv[2]))
