"""Renders a page: asks again until the page is there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from gossamer.client.errors import ConnectionFailed, GossamerError
from gossamer.client.transport import Reply

if TYPE_CHECKING:
    from gossamer.client.client import Client

WAIT_SECONDS: Final = 50  # that the server holds a request


class RenderedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page as a browser has made it."""

    html: str
    status: int  # the page's own
    is_new: bool  # rendered for this call, not taken from the cache
    age: int  # seconds since it was rendered


class QueuedRender(msgspec.Struct, rename="camel"):
    """A render that is not done yet, or has just failed."""

    status: Literal["queued", "failed"]
    job_id: str


async def render_page(client: "Client", body: Mapping[str, Any]) -> RenderedPage:
    patience = client.patience
    until = patience.clock() + patience.seconds
    while patience.clock() < until:
        wait = max(0.0, min(WAIT_SECONDS, until - patience.clock() - 1))
        reply = await client.send("POST", "/api/render", {**body, "wait": wait})
        if reply.status != 202:
            return _page(reply)
        queued = msgspec.json.decode(reply.body, type=QueuedRender)
        if queued.status == "failed":
            raise await _failure(client, queued.job_id)
    raise ConnectionFailed(f"The page was not rendered within {patience.seconds:g} seconds")


async def _failure(client: "Client", job_id: str) -> GossamerError:
    return await client.job_error(job_id, "The page could not be rendered")


def _page(reply: Reply) -> RenderedPage:
    headers = reply.headers
    return RenderedPage(
        html=reply.body.decode("utf-8", "replace"),
        status=int(headers.get("x-page-status", "0")),
        is_new=headers.get("x-cache") == "MISS",
        age=int(headers.get("x-cache-age", "0")),
    )
