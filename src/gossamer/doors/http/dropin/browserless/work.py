"""What both products do with a page, each as calls to our own API."""

from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from gossamer import problems
from gossamer.client.transport import Reply
from gossamer.doors.http.core.relay import RelayedApi
from gossamer.doors.http.dropin.browserless.body import BrowserBody, refused
from gossamer.doors.http.dropin.browserless.captures import PICTURES, picture_format, to_pdf, to_screenshot
from gossamer.problems import Problem, validation_error

SECONDS: Final = 100.0  # for a request: the page, its steps, and its place in the queue
MAX_ELEMENTS: Final = 1_000  # of one selector
_SCRAPE: Final = """(() => {selectors}.map(selector => ({{selector, results:
  [...document.querySelectorAll(selector)].slice(0, {most}).map(element => {{
    const {{height, left, top, width}} = element.getBoundingClientRect();
    const attributes = [...element.attributes].map(({{name, value}}) => ({{name, value}}));
    const text = element.innerText ?? element.textContent;
    return {{attributes, height, html: element.innerHTML, left, text, top, width}};
  }})}})))()"""


async def read_page(api: RelayedApi, body: BrowserBody, *formats: str) -> dict[str, Any]:
    """The page in these formats, with its status."""
    return await _fetch(api, body, {**body.visit(), "formats": list(formats)})


async def read_html(api: RelayedApi, body: BrowserBody) -> dict[str, Any]:
    page = await read_page(api, body, "rawHtml")
    if "rawHtml" not in page:
        raise Problem(problems.CONTENT_UNREADABLE, "The address leads to something that is no page.")
    return page


async def list_links(api: RelayedApi, body: BrowserBody) -> list[str]:
    page = await read_page(api, body, "links")
    found = dict.fromkeys(link["url"] for link in page.get("links", ()))
    if not body.exclude_external_links:
        return list(found)
    home = urlsplit(page["finalUrl"]).hostname
    return [url for url in found if urlsplit(url).hostname == home]


async def scrape(api: RelayedApi, body: BrowserBody) -> list[dict[str, Any]]:
    """The elements that match each selector, with their attributes and where they stand."""
    if not body.elements:
        raise validation_error("There are no `elements`.", hint='Give [{"selector": "h1"}].')
    asked = body.visit()
    selectors = msgspec.json.encode([element.selector for element in body.elements]).decode()
    waits = [
        {"type": "wait", "selector": element.selector, "timeout": element.timeout, "optional": True}
        for element in body.elements
    ]
    look = {"type": "evaluate", "script": _SCRAPE.format(selectors=selectors, most=MAX_ELEMENTS)}
    asked["actions"] = [*asked.get("actions", ()), *waits, look]
    page = await _fetch(api, body, {**asked, "formats": ["metadata"]})
    found: list[dict[str, Any]] = page["actions"][-1]["result"]
    return found


async def extract(api: RelayedApi, body: BrowserBody) -> Any:
    asked = body.visit()
    awaited = asked.pop("waitForSelector", None)
    if awaited:
        asked["actions"] = [{"type": "wait", "selector": awaited}, *asked.get("actions", ())]
    schema = body.response_format.get("schema") or body.response_format.get("json_schema")
    if isinstance(schema, dict) and isinstance(schema.get("schema"), dict):
        schema = schema["schema"]
    if schema:
        asked["schema"] = schema
    asked |= {"instructions": body.prompt, "render": "always"}
    return (await api.ask("POST", "/extract", asked))["data"]


async def take_picture(api: RelayedApi, body: BrowserBody) -> Reply:
    asked = to_screenshot(body)
    return await api.send("POST", "/screenshot", asked, {"accept": PICTURES[picture_format(body)]})


async def print_pdf(api: RelayedApi, body: BrowserBody) -> Reply:
    return await api.send("POST", "/pdf", to_pdf(body), {"accept": "application/pdf"})


async def _fetch(api: RelayedApi, body: BrowserBody, asked: dict[str, Any]) -> dict[str, Any]:
    asked |= {"mainContent": False, "render": "always" if body.javascript else "never"}
    if not body.javascript and (asked.get("actions") or asked.get("waitForSelector")):
        raise refused("setJavaScriptEnabled: false", "Without scripts there is nothing to wait for.")
    page: dict[str, Any] = await api.ask("POST", "/fetch", asked)
    return page
