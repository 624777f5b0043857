"""Makes the pictures in `docs/dashboard/`: every page of the dashboard with real data, light and dark.

.venv/bin/python -m tests.dashboard.screenshots [FOLDER] [NAME …]
"""

import asyncio
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import BrowserContext

from tests.dashboard.data import fill
from tests.dashboard.shop import open_shop
from tests.dashboard.stage import Stage, staged

FOLDER = Path(__file__).parents[2] / "docs" / "dashboard"
ADMIN = "ada@lantern.example"


async def picture(context: BrowserContext, name: str, path: str, folder: Path, scheme: str) -> None:
    page = await context.new_page()
    await page.goto(path)
    await page.locator("h1").wait_for()
    await page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=False, animations="disabled")
    await page.close()


async def make(stage: Stage, folder: Path, names: list[str]) -> None:
    addresses = await fill(stage)
    person = await stage.person(ADMIN, "admin", tenant="admin@localhost")
    for scheme in ("light", "dark"):
        context = await stage.context(dark=scheme == "dark")
        await picture(context, "sign-in", "/app/sign-in", folder, scheme)
        await stage.enter(context, person)
        for name, path in addresses.items():
            if not names or name in names:
                await picture(context, name, path, folder, scheme)
        await context.close()


async def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as data, open_shop() as port:
        async with staged(Path(data), port) as stage:
            await make(stage, folder, names)
    made = sorted(path.name for path in folder.glob("*.png"))
    print(f"{len(made)} pictures in {folder}: {', '.join(re.sub('.png', '', name) for name in made)}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER, sys.argv[2:]))
