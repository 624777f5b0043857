"""Every page: axe-core finds nothing, light or dark; it fits on a phone; it loads little, and nothing from
elsewhere; and the console stays silent."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import ConsoleMessage, Error, Page, Response

from tests.dashboard.stage import PHONE, WIDE, Stage

MAX_BYTES = 150_000
# All that differs in the dark. It looks at computed styles: style sheets need not be loaded again.
COLOURS = {"runOnly": ["color-contrast"], "preload": False}


@dataclass
class Watch:
    """What a page loads and complains of."""

    url: str  # of the server
    responses: list[Response] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @contextmanager
    def over(self, page: Page) -> Iterator[None]:
        heard = {"response": self._follow, "console": self._hear, "pageerror": self._note}
        for event, listener in heard.items():
            page.on(event, listener)  # type: ignore[call-overload]
        yield
        for event, listener in heard.items():
            page.remove_listener(event, listener)

    async def weight(self) -> int:
        return sum([len(await response.body()) for response in self.responses])

    def _follow(self, response: Response) -> None:
        if not response.url.startswith((self.url, "data:")):
            self.complaints.append(f"loads {response.url}")
        if "event-stream" not in response.headers.get("content-type", ""):
            self.responses.append(response)

    def _hear(self, line: ConsoleMessage) -> None:
        if line.type == "error":
            self.complaints.append(line.text)

    def _note(self, error: Error) -> None:
        self.complaints.append(str(error))


async def violations(page: Page, options: dict[str, Any]) -> list[str]:
    wanted = {"resultTypes": ["violations"], "iframes": False, **options}
    found = await page.evaluate("options => axe.run(document, options)", wanted)
    return [
        f"{violation['id']}: {violation['help']} {[node['target'] for node in violation['nodes'][:3]]}"
        for violation in found["violations"]
    ]


async def faults(page: Page, path: str, watch: Watch) -> list[str]:
    """What is wrong with a page. It is loaded once, then looked at in the dark and on a phone."""
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    await page.goto(path, wait_until="load")
    found = [*watch.complaints, *await violations(page, {})]
    await page.emulate_media(color_scheme="dark")
    found += [f"dark: {fault}" for fault in await violations(page, COLOURS)]
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    width = await page.evaluate("document.documentElement.scrollWidth")
    if width > PHONE["width"]:
        found.append(f"{width} pixels wide on a phone")
    if (weight := await watch.weight()) > MAX_BYTES:
        found.append(f"{weight} bytes")
    return found


async def test_every_page_can_be_read_by_everybody(stage: Stage, addresses: dict[str, str], axe: str) -> None:
    """In one tab, whose process compiles axe-core once."""
    context = await stage.context()
    await context.add_init_script(axe)
    page = await context.new_page()
    person = await stage.person("axe@example.com", "admin", tenant="admin@localhost")
    wrong = {}
    for name, path in {"sign-in": "/app/sign-in", **addresses}.items():
        watch = Watch(stage.url)
        with watch.over(page):
            wrong[name] = await faults(page, path, watch)
        if name == "sign-in":
            await stage.enter(context, person)
    await context.close()
    assert {name: found for name, found in wrong.items() if found} == {}
    assert len(wrong) > 25
