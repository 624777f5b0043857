"""Playwright with the Chromium it is given: a context for each page, which is done when its network is idle.

`patient` is no contender but the measure of all: it waits for seconds more, and looks into shadow roots.
It has an environment of its own.
"""

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
from bench.contenders.rendered import keep
from bench.contenders.worker import ReadAsync, serve_tasks

PATIENCE = 5_000  # milliseconds after the network became idle
WITH_SHADOWS = """() => {
  const roots = []
  const look = (node) => {
    for (const { shadowRoot } of node.querySelectorAll('*')) {
      if (shadowRoot) { roots.push(shadowRoot); look(shadowRoot) }
    }
  }
  look(document)
  return document.documentElement.getHTML({ shadowRoots: roots })
}"""


@asynccontextmanager
async def reader(binary: str, *, patient: bool) -> AsyncIterator[ReadAsync]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=binary, args=flags())

        async def read(url: str) -> str:
            context = await browser.new_context()
            try:
                page = await context.new_page()
                await page.goto(url, wait_until="networkidle", timeout=DEADLINE * 1000)
                html = await _look_long(page) if patient else str(await page.content())
            except Error:
                html = ""  # it failed
            finally:
                await context.close()
            keep(url, html)
            return html

        try:
            yield read
        finally:
            await browser.close()


async def _look_long(page: Any) -> str:
    await page.wait_for_timeout(PATIENCE)
    return str(await page.evaluate(WITH_SHADOWS))


if __name__ == "__main__":
    serve_tasks(version("playwright"), reader(sys.argv[1], patient="patient" in sys.argv[2:]))
