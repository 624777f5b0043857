"""ApiCall: what somebody chose in the playground, as the API takes it and as programs write it."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from gossamer.doors.http.dashboard.core.form import Form
from gossamer.doors.http.dashboard.start.schemas import EXAMPLES
from gossamer.doors.mcp.tools.calling import TOOLS
from gossamer.problems import validation_error

RENDER_WAIT_SECONDS: Final = 45  # a render that takes longer is shown as a job
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?![0-9])", re.I)  # and not a host with its port
VIEWPORTS: Final[Mapping[str, tuple[int, int]]] = {
    "desktop": (1280, 800),
    "wide": (1920, 1080),
    "tablet": (820, 1180),
    "phone": (390, 844),
}


class PlaygroundTask(StrEnum):
    """What the playground can do."""

    FETCH = "fetch"
    RENDER = "render"
    SCREENSHOT = "screenshot"
    PDF = "pdf"
    EXTRACT = "extract"
    SEARCH = "search"


class ApiCall(Struct, frozen=True):
    """A call of the API."""

    task: PlaygroundTask
    path: str
    body: dict[str, Any]
    accept: str = "application/json"
    price: str = ""  # its row in the table of prices; empty: only keys may call it

    def curl(self, public_url: str) -> str:
        lines = [
            f"curl {public_url}{self.path}",
            '-H "Authorization: Bearer $GOSSAMER_KEY"',
            '-H "Content-Type: application/json"',
        ]
        if self.file:
            lines += [f'-H "Accept: {self.accept}"', f"-o {self.file}"]
        return " \\\n  ".join([*lines, f"-d {shlex.quote(_compact(self.body))}"])

    def python(self, public_url: str) -> str:
        accept = f',\n        "Accept": "{self.accept}"' if self.file else ""
        saved = f'open("{self.file}", "wb").write(answer.content)'
        result = saved if self.file else f"print({self._result()})"
        return (
            "import os\n\nimport httpx\n\n"
            f'answer = httpx.post(\n    "{public_url}{self.path}",\n'
            '    headers={\n        "Authorization": f"Bearer {os.environ[\'GOSSAMER_KEY\']}"'
            f"{accept},\n    }},\n    json={_python(self.body)},\n    timeout=90,\n)\n"
            f"answer.raise_for_status()\n{result}"
        )

    def tool(self) -> str:
        """The same as a call of a tool, for clients of MCP; empty if no tool does it."""
        tool = TOOLS.get(self.task.value)
        if tool is None:
            return ""
        known = tool.schema["properties"]
        arguments = {name: value for name, value in self.body.items() if name in known}
        if self.task is PlaygroundTask.FETCH:
            chosen = self.body["formats"][0]
            arguments["format"] = chosen if chosen in known["format"]["enum"] else "llm"
        call = {"name": tool.name, "arguments": arguments}
        return json.dumps({"method": "tools/call", "params": call}, indent=2, ensure_ascii=False)

    def _result(self) -> str:
        """Where a program finds what it asked for."""
        if self.task is PlaygroundTask.RENDER:
            return "answer.text"
        name = "data" if self.task is PlaygroundTask.EXTRACT else "results"
        if self.task is PlaygroundTask.FETCH:
            chosen = self.body["formats"][0]
            name = "content" if chosen in ("markdown", "llm") else chosen
        return f'answer.json()["{name}"]'

    @property
    def file(self) -> str:
        """The name of the file that the answer is; empty if it is JSON or a page."""
        return {"image/png": "page.png", "application/pdf": "page.pdf"}.get(self.accept, "")


def to_call(form: Form) -> ApiCall:
    """Raises `Problem` for a form that cannot be sent as it is."""
    try:
        task = PlaygroundTask(form.get("do", PlaygroundTask.FETCH))
    except ValueError:
        raise validation_error("Choose what to do with the page.") from None
    if task is not PlaygroundTask.SEARCH and not form["url"]:
        raise validation_error("There is no URL.", hint="Type the address of a page.")
    if task is PlaygroundTask.SEARCH and not form["query"]:
        raise validation_error("There is nothing to search for.", hint="Type a few words.")
    return _CALLS[task](form)


def _fetch(form: Form) -> ApiCall:
    chosen = form.get("format", "markdown")
    formats = dict.fromkeys([chosen, "html", "links", "metadata"])
    body: dict[str, Any] = {"url": _url(form), "formats": list(formats)}
    if form["include"]:
        body["include"] = [form["include"]]
    render = form.get("render", "auto")
    body["render"] = render
    if form["wait_for"] and render != "never":
        body["waitForSelector"] = form["wait_for"]
    price = "fetch-basic" if render == "never" else "fetch-pro"
    return ApiCall(PlaygroundTask.FETCH, "/fetch", body | _cache(form), price=price)


def _render(form: Form) -> ApiCall:
    body: dict[str, Any] = {"url": _url(form), "wait": RENDER_WAIT_SECONDS}
    if form["wait_for"]:
        body["waitForSelector"] = form["wait_for"]
    if not form.is_on("cache", default=True):
        body["maxAge"] = 0
    return ApiCall(PlaygroundTask.RENDER, "/api/render", body, accept="text/html")


def _screenshot(form: Form) -> ApiCall:
    width, height = VIEWPORTS.get(form["viewport"], VIEWPORTS["desktop"])
    body: dict[str, Any] = {
        "url": _url(form),
        "viewport": {"width": width, "height": height},
        "format": "png",
    }
    if form.is_on("full_page"):
        body["fullPage"] = True
    if form.is_on("dark"):
        body["darkMode"] = True
    if form["element"]:
        body["selector"] = form["element"]
    return _capture(PlaygroundTask.SCREENSHOT, form, body, "image/png")


def _pdf(form: Form) -> ApiCall:
    body: dict[str, Any] = {"url": _url(form), "format": form.get("paper", "A4")}
    if form.is_on("landscape"):
        body["landscape"] = True
    return _capture(PlaygroundTask.PDF, form, body, "application/pdf")


def _capture(task: PlaygroundTask, form: Form, body: dict[str, Any], accept: str) -> ApiCall:
    if form["wait_for"]:
        body["waitForSelector"] = form["wait_for"]
    # Capturing takes a while, so the page is given the time that the API allows.
    body["timeout"] = 30_000
    return ApiCall(task, f"/{task.value}", body | _cache(form), accept, price=task.value)


def _extract(form: Form) -> ApiCall:
    example = {one.name: one.text for one in EXAMPLES}.get(form["example"], "")
    try:
        schema = json.loads(form["schema"] or example or EXAMPLES[0].text)
    except (ValueError, RecursionError) as error:
        raise validation_error(
            f"The schema is not JSON: {error}.", hint="Begin with one of the examples."
        ) from None
    body = {"url": _url(form), "schema": schema, "render": form.get("render", "auto")}
    return ApiCall(PlaygroundTask.EXTRACT, "/extract", body | _cache(form), price="extract")


def _search(form: Form) -> ApiCall:
    body: dict[str, Any] = {"query": form["query"], "limit": 10}
    if form["site"]:
        body["site"] = form["site"]
    return ApiCall(PlaygroundTask.SEARCH, "/search", body | _cache(form), price="search")


_CALLS: Final[Mapping[PlaygroundTask, Callable[[Form], ApiCall]]] = {
    PlaygroundTask.FETCH: _fetch,
    PlaygroundTask.RENDER: _render,
    PlaygroundTask.SCREENSHOT: _screenshot,
    PlaygroundTask.PDF: _pdf,
    PlaygroundTask.EXTRACT: _extract,
    PlaygroundTask.SEARCH: _search,
}


def _url(form: Form) -> str:
    """The address; people leave out the scheme."""
    typed = form["url"]
    return typed if _SCHEME.match(typed) else f"https://{typed}"


def _cache(form: Form) -> dict[str, Any]:
    return {"cache": True} if form.is_on("cache", default=True) else {}


def _compact(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


def _python(body: dict[str, Any]) -> str:
    """As Python writes it, on lines of its own."""
    lines = "".join(f"        {name!r}: {value!r},\n" for name, value in body.items())
    return f"{{\n{lines}    }}"
