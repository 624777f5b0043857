"""Tools for what agents remember: values and pages by key."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.mcp import wording
from gossamer.doors.mcp.tools.tool import Content, ToolArguments, ToolCall, ToolDeclaration

MEMORY: Final = "What was remembered"
Place = Annotated[str, Meta(description="A folder for keys, such as one for each project.")]
_MAX_LISTED: Final = 100


class RememberArguments(ToolArguments, frozen=True, kw_only=True):
    key: Annotated[str, Meta(description="Its name, such as user/preferences.")]
    value: Annotated[Any, Meta(description="A text, markdown or any JSON.")] = UNSET
    url: Annotated[str | UnsetType, Meta(description="Instead of a value: a web page to read and keep.")] = (
        UNSET
    )
    namespace: Place = "default"
    tags: tuple[str, ...] = ()
    ttl: Annotated[int, Meta(ge=1, description="Seconds after which to forget it.")] | UnsetType = UNSET
    if_version: (
        Annotated[int, Meta(ge=0, description="Only if it has this version; 0: only if it is new.")]
        | UnsetType
    ) = UNSET


async def remember(call: ToolCall, asked: RememberArguments) -> Content:
    body = asked.given()
    if asked.url is not UNSET:
        body.pop("value", None)
        entry = await call.api.post("/memory/pages", body)
    else:
        if isinstance(asked.value, str):
            body["format"] = "markdown"
        entry = (await call.api.post("/memory/entries", {"entries": [body]}))["entries"][0]
    return [wording.text(f"Remembered as version {entry['version']}, {entry['size']:,} bytes.")]


class RecallArguments(ToolArguments, frozen=True, kw_only=True):
    key: Annotated[str | UnsetType, Meta(description="The name it was remembered by.")] = UNSET
    query: (
        Annotated[str, Meta(max_length=400, description="Or words: finds what was remembered about them.")]
        | UnsetType
    ) = UNSET
    namespace: Annotated[
        str | UnsetType, Meta(description="Where; a query looks everywhere, a key in default.")
    ] = UNSET
    limit: Annotated[int, Meta(ge=1, le=50, description="The most results of a query.")] = 10


async def recall(call: ToolCall, asked: RecallArguments) -> Content:
    if asked.key is not UNSET:
        return await _recall_key(call, asked.key, asked.namespace or "default")
    if asked.query is not UNSET:
        return await _recall_query(call, asked.query, asked)
    return await _recall_names(call, asked.namespace or "")


async def _recall_key(call: ToolCall, key: str, namespace: str) -> Content:
    keys = [{"key": key, "namespace": namespace}]
    found = (await call.api.post("/memory/entries/get", {"keys": keys}))["entries"]
    if not found:
        return [wording.text("Nothing is remembered by this name. Try `query`, or neither to see the names.")]
    entry = found[0]
    value = entry["value"] if isinstance(entry["value"], str) else wording.as_json(entry["value"])
    words, note = wording.cut(value, "Get the rest over HTTP: GET /memory/entries.")
    facts = wording.listed([f"Version {entry['version']}", f"written {entry['updatedAt']}"])
    return [wording.text(facts, wording.strangers(words, MEMORY), note)]


async def _recall_query(call: ToolCall, query: str, asked: RecallArguments) -> Content:
    body: dict[str, Any] = {"query": query, "limit": asked.limit}
    if asked.namespace is not UNSET:
        body["namespaces"] = [asked.namespace]
    results = (await call.api.post("/memory/search", body))["results"]
    if not results:
        return [wording.text("Nothing like that is remembered.")]
    lines = [_result(number, one) for number, one in enumerate(results, 1)]
    said = f"{len(results)} entries, the best first. Read one with `key` and `namespace`."
    return [wording.text(said, wording.strangers("\n".join(lines), MEMORY))]


def _result(number: int, one: dict[str, Any]) -> str:
    entry = one["entry"]
    title = f" ({wording.line(entry['title'])})" if entry.get("title") else ""
    name = f"{number}. {wording.line(entry['key'])} in {entry['namespace']}{title}"
    return f"{name}\n   {wording.line(one['snippet'], 1_000)}"


async def _recall_names(call: ToolCall, namespace: str) -> Content:
    """Which names there are."""
    if not namespace:
        spaces = (await call.api.get("/memory", pays=True))["namespaces"]
        told = [f"- {one['name']}: {one['entries']:,} entries" for one in spaces[:_MAX_LISTED]]
        return [wording.text("Namespaces:" if told else "Nothing is remembered yet.", *told)]
    query = urlencode({"limit": _MAX_LISTED, "namespace": namespace})
    found = await call.api.get(f"/memory/entries?{query}", pays=True)
    names = "\n".join(f"- {wording.line(entry['key'])}" for entry in found["entries"])
    more = "There are more: ask with a `query`." if found["nextCursor"] else ""
    return [wording.text(wording.strangers(names, MEMORY) if names else "Nothing is there.", more)]


class ForgetArguments(ToolArguments, frozen=True, kw_only=True):
    key: Annotated[str, Meta(description="The name it was remembered by.")]
    namespace: Place = "default"


async def forget(call: ToolCall, asked: ForgetArguments) -> Content:
    gone = await call.api.post("/memory/entries/delete", {"keys": [asked.given()]})
    return [wording.text("Forgotten." if gone["deleted"] else "Nothing was remembered by this name.")]


TOOLS: Final = (
    ToolDeclaration(
        "remember",
        "Remember",
        "Keep a value or a web page by name, for later and for other sessions.",
        RememberArguments,
        remember,
        changes=True,
    ),
    ToolDeclaration(
        "recall",
        "Recall",
        "Get what was remembered: by its `key`, or by a `query`. With neither, the names there are.",
        RecallArguments,
        recall,
    ),
    ToolDeclaration(
        "forget",
        "Forget",
        "Delete what was remembered by this name, with its earlier versions.",
        ForgetArguments,
        forget,
        changes=True,
        destroys=True,
    ),
)
