"""Pages that the caller's own crawls have stored, as resources."""

import re
from typing import Any, Final
from urllib.parse import quote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from gossamer.doors.mcp import wording
from gossamer.doors.mcp.own_api import OwnApi, Refused

LISTED: Final = 50  # in one answer
MAX_CURSOR_CHARS: Final = 500
TEMPLATE: Final = "gossamer://crawls/{crawlId}/pages/{pageId}"
MEDIA_TYPE: Final = "text/markdown"
_URI: Final = re.compile(r"gossamer://crawls/([0-9A-Za-z]{1,64})/pages/([0-9a-f]{1,128})")
_STRANGERS: Final = frozenset({401, 402, 403})  # who has no account has stored nothing


async def list_pages(api: OwnApi, cursor: str | None) -> types.ListResourcesResult:
    """The newest crawl first. Titles are left out: a list has no place for a stranger's words."""
    after = f"&cursor={quote(cursor[:MAX_CURSOR_CHARS])}" if cursor else ""
    try:
        found = await api.get(f"/api/pages?outcome=ok&limit={LISTED}{after}")
    except Refused as refused:
        if refused.status in _STRANGERS:
            return types.ListResourcesResult(resources=[])
        raise _error(refused) from None
    shown = [_resource(page) for page in found["pages"] if page["contentUrl"]]
    return types.ListResourcesResult(resources=shown, next_cursor=found["nextCursor"])


def templates() -> types.ListResourceTemplatesResult:
    stored = types.ResourceTemplate(
        name="page",
        title="A stored page",
        uri_template=TEMPLATE,
        description="A page that one of your crawls has stored.",
        mime_type=MEDIA_TYPE,
    )
    return types.ListResourceTemplatesResult(resource_templates=[stored])


async def read_page(api: OwnApi, uri: str) -> types.ReadResourceResult:
    named = _URI.fullmatch(uri)
    if named is None:
        raise MCPError(
            code=types.INVALID_PARAMS, message="There is no such resource.", data={"uri": wording.line(uri)}
        )
    try:
        words = await api.text(f"/api/crawls/{named[1]}/pages/{named[2]}/content?format=markdown")
    except Refused as refused:
        raise _error(refused) from None
    kept, note = wording.cut(words, "Read the page with the tool `fetch` and a CSS selector.")
    told = wording.strangers(kept) + (f"\n{note}" if note else "")
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type=MEDIA_TYPE, text=told)]
    )


def _resource(page: dict[str, Any]) -> types.Resource:
    return types.Resource(
        uri=f"gossamer://crawls/{page['crawlId']}/pages/{page['pageId']}",
        name=wording.line(page["url"], 200),
        description=f"Stored {page['crawledAt']}.",
        mime_type=MEDIA_TYPE,
    )


def _error(refused: Refused) -> MCPError:
    code = types.INVALID_PARAMS if refused.status == 404 else types.INTERNAL_ERROR
    return MCPError(code=code, message=wording.error(refused.problem))
