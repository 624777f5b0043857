"""The main paths through the dashboard, walked by a real browser."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.dashboard.stage import PASSWORD, SECONDS, Stage, serving

expect.set_options(timeout=SECONDS * 1000)
HOSTILE = "<img src=x onerror=alert(1)>\"'"


@asynccontextmanager
async def browsing(stage: Stage, email: str, role: str = "admin", **how: bool) -> AsyncIterator[Page]:
    """A page of somebody who has signed in."""
    context = await stage.context(**how)
    await stage.enter(context, await stage.person(email, role, tenant="admin@localhost"))
    page = await context.new_page()
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    yield page
    await context.close()


async def press(page: Page, name: str) -> None:
    await page.get_by_role("button", name=name, exact=True).click()


async def test_the_way_in_by_a_link_and_out_again(stage: Stage) -> None:
    added = await stage.client.post("/api/admin/users", json={"email": "new@example.com"})
    context = await stage.context()
    page = await context.new_page()
    await page.goto(added.json()["link"])
    await page.get_by_label("New password").fill("short")
    await press(page, "Sign in")
    await expect(page.get_by_role("alert")).to_contain_text("10 to 200 characters")
    await page.get_by_label("New password").fill(PASSWORD)
    await press(page, "Sign in")
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await press(page, "Sign out")
    await expect(page.get_by_text("You are signed out.")).to_be_visible()
    await page.goto("/app/crawls")
    await page.get_by_label("Email").fill("new@example.com")
    await page.get_by_label("Password").fill("not the password")
    await press(page, "Sign in")
    await expect(page.get_by_role("alert")).to_contain_text("The email or the password is not right.")
    await expect(page.get_by_label("Email")).to_have_value("new@example.com")
    await page.get_by_label("Password").fill(PASSWORD)
    await press(page, "Sign in")
    await expect(page.get_by_role("heading", name="Crawls")).to_be_visible()  # where they were going
    await context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
async def test_the_playground_shows_a_page_and_the_call(stage: Stage, scripts: bool) -> None:
    async with browsing(stage, f"play{scripts:d}@example.com", "user", scripts=scripts) as page:
        await page.goto("/app/playground")
        await page.get_by_label("URL").fill(f"{stage.shop}/books/maps-drawn")
        await press(page, "Run")
        result = page.locator("#result")
        await expect(result).to_contain_text("thirty drawings")
        await expect(result).to_contain_text("curl")
        await expect(page.get_by_label("URL")).to_have_value(f"{stage.shop}/books/maps-drawn")


async def test_the_playground_takes_a_picture_and_explains_a_refusal(stage: Stage) -> None:
    async with browsing(stage, "picture@example.com", "user") as page:
        await page.goto("/app/playground")
        await page.get_by_label("URL").fill(f"{stage.shop}/events")
        await page.get_by_text("Screenshot", exact=True).click()
        await press(page, "Run")
        await expect(page.locator("#result").locator("img").first).to_be_visible()
        await page.get_by_label("URL").fill("ftp://example.com/")
        await press(page, "Run")
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_label("URL")).to_have_value("ftp://example.com/")


async def test_a_key_is_created_copied_used_and_disabled(stage: Stage) -> None:
    async with browsing(stage, "keys@example.com") as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.goto("/app/keys/new")
        await page.get_by_label("Email of the tenant").fill("customer@example.com")
        await page.get_by_label("Label").fill(HOSTILE)
        await page.get_by_role("button", name="Create the key").dblclick()
        await expect(page.get_by_role("heading", name="Your new key")).to_be_visible()
        shown = await page.locator(".copyable code").first.inner_text()
        await page.get_by_role("button", name="Copy key").click()
        assert await page.evaluate("navigator.clipboard.readText()") == shown
        listed = await stage.client.get("/api/admin/keys", params={"email": "customer@example.com"})
        assert len(listed.json()["keys"]) == 1  # a double click is one key
        me = await stage.client.get("/api/me", headers={"Authorization": f"Bearer {shown}"})
        assert me.json()["via"] == "key"
        await page.goto("/app/keys")
        await expect(page.get_by_text(HOSTILE)).to_be_visible()
        key_id = listed.json()["keys"][0]["id"]
        await page.goto(f"/app/keys/{key_id}")
        assert shown not in await page.content()


async def test_a_crawl_is_previewed_started_seen_to_move_and_deleted(stage: Stage) -> None:
    async with browsing(stage, "crawl@example.com") as page:
        await page.goto("/app/crawls/new")
        await page.get_by_label(re.compile("^Seeds")).fill(f"{stage.shop}/")
        await press(page, "Preview what this scope includes")
        await expect(page.get_by_text("What this crawl would do")).to_be_visible()
        await expect(page.get_by_label(re.compile("^Seeds"))).to_have_value(f"{stage.shop}/")
        await press(page, "Start the crawl")
        await page.wait_for_url(re.compile(r"/app/crawls/[0-9A-Z]{26}"))
        stored = page.locator('[data-bind="counts.pages"]')
        await expect(stored).not_to_have_text("0")  # it moves, without being loaded again
        await expect(page.locator(".pill").first).to_have_text("done")
        await page.get_by_role("link", name="Delete").click()
        await press(page, "Delete the crawl")
        crawl_id = page.url.rsplit("/", 2)[-1]
        await expect(page.get_by_role("heading", name="Crawls")).to_be_visible()
        await expect(page.locator(f'a[href*="{crawl_id}"]')).to_have_count(0)


async def test_a_crawl_can_be_started_and_stopped_without_scripts(stage: Stage) -> None:
    async with browsing(stage, "plain@example.com", scripts=False) as page:
        await page.goto("/app/crawls/new")
        await page.get_by_label(re.compile("^Seeds")).fill("not a url at all")
        await press(page, "Start the crawl")
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_label(re.compile("^Seeds"))).to_have_value("not a url at all")
        await page.get_by_label(re.compile("^Seeds")).fill(f"{stage.shop}/books")
        await press(page, "Start the crawl")
        await page.wait_for_url(re.compile(r"/app/crawls/[0-9A-Z]{26}"))
        await page.goto(f"{page.url.partition('?')[0]}/delete")
        await press(page, "Delete the crawl")
        await expect(page.get_by_role("heading", name="Crawls")).to_be_visible()


async def test_a_cached_page_is_found_and_cleared(stage: Stage) -> None:
    url = f"{stage.shop}/events"
    (await stage.client.post("/api/render", json={"url": url, "wait": 30})).raise_for_status()
    async with browsing(stage, "cache@example.com") as page:
        await page.goto("/app/cache")
        await expect(page.get_by_text("/events").first).to_be_visible()
        await page.goto("/app/cache/clear")
        await page.get_by_label("One page").fill(url)
        await press(page, "Show what would go")
        await expect(page.get_by_text("This page would go")).to_be_visible()
        await press(page, "Clear this page")
        await expect(page.locator(".notice")).to_be_visible()
        await expect(page.get_by_text("Freed")).to_be_visible()
    cached = (await stage.client.get("/api/cache/pages", params={"search": "/events"})).json()
    assert cached["pages"] == []


async def test_an_audit_is_started_and_read(stage: Stage) -> None:
    async with browsing(stage, "audit@example.com") as page:
        await page.goto("/app/audits")
        await page.get_by_label("Address").first.fill(f"{stage.shop}/books")
        await press(page, "Start the audit")
        await page.wait_for_url(re.compile(r"/app/audits/[0-9A-Z]{26}"))
        await expect(page.get_by_role("link", name="Open the report")).to_be_visible()
        await expect(page.locator("main")).to_contain_text("of 100")


async def test_a_user_is_refused_what_an_admin_may_do(stage: Stage) -> None:
    async with browsing(stage, "user@example.com", "user") as page:
        await page.goto("/app")
        for name in ("People", "Tenants", "Settings", "Payments"):
            await expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)
        for path in ("/app/people", "/app/tenants", "/app/settings", "/app/payments"):
            answer = await page.goto(path)
            assert answer is not None
            assert answer.status == 403, path
            await expect(page.get_by_role("alert")).to_contain_text("needs the role 'admin'")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
async def test_a_form_goes_on_after_a_lost_session(stage: Stage, scripts: bool) -> None:
    email, added = f"lost{scripts:d}@example.com", f"friend{scripts:d}@example.com"
    async with browsing(stage, email, scripts=scripts) as page:
        await page.goto("/app/people")
        await page.get_by_label("Email").fill(added)
        await page.context.clear_cookies()
        await press(page, "Add and show the link")
        if scripts:
            await expect(page.get_by_role("alert")).to_contain_text("Your session has ended")
            await expect(page.get_by_label("Email")).to_have_value(added)
            await stage.sign_in(page.context, email)
            await press(page, "Add and show the link")
        else:
            await expect(page.get_by_text("Your session has ended.")).to_be_visible()
            await page.get_by_label("Email").fill(email)
            await page.get_by_label("Password").fill(PASSWORD)
            await press(page, "Sign in")
            await expect(page.get_by_text(added)).to_be_visible()
            await press(page, "Send it now")
        await expect(page.locator("code", has_text="/app/link?token=")).to_be_visible()


async def test_hostile_text_of_pages_is_shown_as_text(stage: Stage) -> None:
    """Titles, addresses and contents that sites choose."""
    async with browsing(stage, "hostile@example.com") as page:
        await page.goto("/app/playground")
        await page.get_by_label("URL").fill(f"{stage.shop}/hostile?a=<script>alert(1)</script>")
        await press(page, "Run")
        await expect(page.locator("#result")).to_contain_text("<script>alert(1)</script>")
        await page.goto("/app/pages?contains=<script>alert(1)</script>")
        await page.goto("/app/search?query=<script>alert(1)</script>")
        await expect(page.locator("h1")).to_have_text("Search")


async def test_on_a_phone_the_menu_opens_and_leads_on(stage: Stage) -> None:
    async with browsing(stage, "small@example.com", phone=True) as page:
        await page.goto("/app")
        await expect(page.get_by_role("link", name="Playground", exact=True)).to_be_hidden()
        await page.get_by_text("Menu", exact=True).click()
        await page.get_by_role("link", name="Playground", exact=True).click()
        await expect(page.get_by_role("heading", name="Playground")).to_be_visible()


async def test_an_empty_dashboard_says_what_to_do_first(stage: Stage, tmp_path: Path) -> None:
    async with serving(stage.browser, tmp_path, 9) as empty, browsing(empty, "first@example.com") as page:
        await page.goto("/app")
        await expect(page.get_by_text("Begin here")).to_be_visible()
        for path in ("crawls", "pages", "domains", "audits", "batches", "jobs", "cache"):
            await page.goto(f"/app/{path}")
            await expect(page.locator(".empty, .steps, form").first).to_be_visible()
