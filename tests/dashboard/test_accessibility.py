"""Every page: axe-core finds nothing, light or dark; it fits on a phone; it loads little, and nothing from
elsewhere; and the console stays silent."""

from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import ConsoleMessage, Page, Response

from tests.dashboard.stage import PHONE, WIDE, Stage

MAX_BYTES = 150_000
COLOURS = {"runOnly": ["color-contrast"]}  # all that differs in the dark


@dataclass
class Watch:
    """What a page loads and complains of."""

    url: str  # of the server
    sizes: list[int] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("response", self._weigh)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def _weigh(self, response: Response) -> None:
        if not response.url.startswith((self.url, "data:")):
            self.complaints.append(f"loads {response.url}")
        if "event-stream" not in response.headers.get("content-type", ""):
            self.sizes.append(len(await response.body()))

    def _hear(self, line: ConsoleMessage) -> None:
        if line.type == "error":
            self.complaints.append(line.text)


async def violations(page: Page, options: dict[str, Any]) -> list[str]:
    wanted = {"resultTypes": ["violations"], "iframes": False, **options}
    found = await page.evaluate("options => axe.run(document, options)", wanted)
    return [
        f"{violation['id']}: {violation['help']} {[node['target'] for node in violation['nodes'][:3]]}"
        for violation in found["violations"]
    ]


async def faults(stage: Stage, page: Page, path: str, axe: str) -> list[str]:
    """What is wrong with a page. It is loaded once, then looked at in the dark and on a phone."""
    watch = Watch(stage.url)
    watch.follow(page)
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    await page.goto(path, wait_until="load")
    await page.evaluate(axe)
    found = [*watch.complaints, *await violations(page, {})]
    await page.emulate_media(color_scheme="dark")
    found += [f"dark: {fault}" for fault in await violations(page, COLOURS)]
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    width = await page.evaluate("document.documentElement.scrollWidth")
    if width > PHONE["width"]:
        found.append(f"{width} pixels wide on a phone")
    if sum(watch.sizes) > MAX_BYTES:
        found.append(f"{sum(watch.sizes)} bytes")
    return found


async def test_every_page_can_be_read_by_everybody(stage: Stage, addresses: dict[str, str], axe: str) -> None:
    context = await stage.context()
    page = await context.new_page()
    wrong = {"sign-in": await faults(stage, page, "/app/sign-in", axe)}
    await page.close()
    await stage.enter(context, await stage.person("axe@example.com", "admin", tenant="admin@localhost"))
    for name, path in addresses.items():
        page = await context.new_page()
        wrong[name] = await faults(stage, page, path, axe)
        await page.close()
    await context.close()
    assert {name: found for name, found in wrong.items() if found} == {}
    assert len(wrong) > 25
