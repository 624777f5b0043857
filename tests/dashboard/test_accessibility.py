"""axe-core finds nothing on any page, light or dark, and nothing is wider than a phone."""

from typing import Any

from playwright.async_api import BrowserContext, Page

from tests.dashboard.stage import Stage

# Every rule once; in the dark only the colours differ.
RULES: dict[bool, dict[str, Any]] = {False: {}, True: {"runOnly": ["color-contrast"]}}


async def violations(page: Page, axe: str, options: dict[str, Any]) -> list[str]:
    await page.evaluate(axe)
    found = await page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{violation['id']}: {violation['help']} {[node['target'] for node in violation['nodes'][:3]]}"
        for violation in found["violations"]
    ]


async def signed_in(stage: Stage, email: str, **how: bool) -> BrowserContext:
    context = await stage.context(**how)
    await stage.enter(context, await stage.person(email, "admin", tenant="admin@localhost"))
    return context


async def test_axe_finds_nothing_on_any_page_light_and_dark(
    stage: Stage, addresses: dict[str, str], axe: str
) -> None:
    wrong: dict[str, list[str]] = {}
    for dark, options in RULES.items():
        context = await signed_in(stage, f"axe{dark:d}@example.com", dark=dark)
        page = await context.new_page()
        for name, path in addresses.items():
            await page.goto(path)
            found = await violations(page, axe, options)
            if found:
                wrong[f"{name}, {'dark' if dark else 'light'}"] = found
        await context.close()
        outside = await stage.context(dark=dark)
        page = await outside.new_page()
        await page.goto("/app/sign-in")
        assert await violations(page, axe, options) == []
        await outside.close()
    assert wrong == {}


async def test_nothing_is_wider_than_a_phone(stage: Stage, addresses: dict[str, str]) -> None:
    context = await signed_in(stage, "phone@example.com", phone=True)
    page = await context.new_page()
    wide: dict[str, int] = {}
    for name, path in addresses.items():
        await page.goto(path)
        width = await page.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            wide[name] = width
    await context.close()
    assert wide == {}


async def test_every_page_is_whole_and_small(stage: Stage, addresses: dict[str, str]) -> None:
    """All that a page loads, < 150 kB; nothing from elsewhere; no error in the console."""
    context = await signed_in(stage, "small@example.com")
    heavy: dict[str, int] = {}
    errors: list[str] = []
    for name, path in addresses.items():
        page = await context.new_page()
        page.on(
            "console",
            lambda line, name=name: errors.append(f"{name}: {line.text}") if line.type == "error" else None,
        )
        page.on("pageerror", lambda error, name=name: errors.append(f"{name}: {error}"))
        sizes: list[int] = []
        foreign: list[str] = []

        async def weigh(response: Any, sizes: list[int] = sizes, foreign: list[str] = foreign) -> None:
            if not response.url.startswith((stage.url, "data:")):
                foreign.append(response.url)
            if "event-stream" not in response.headers.get("content-type", ""):
                sizes.append(len(await response.body()))

        page.on("response", weigh)
        await page.goto(path, wait_until="load")
        await page.close()
        assert foreign == [], name
        if sum(sizes) > 150_000:
            heavy[name] = sum(sizes)
    await context.close()
    assert heavy == {}
    assert errors == []
