"""Incoming webhooks of sites over HTTP: make, show and remove one, and take its messages."""

from typing import Any, Final

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.sites.site_hooks import (
    MAX_DELIVERY_CHARS,
    HookMessage,
    SiteHooks,
)
from gossamer.state.sites.hooks import SiteHook
from gossamer.state.tenants.tenants import Role
from gossamer.web.sites.hook_answer import HookRequest, HookTaken, ShownHook

MAX_MESSAGE_BYTES: Final = 1_000_000
# The id of a message, as different systems call it.
_IDS: Final = (b"webhook-id", b"x-wc-webhook-delivery-id", b"x-github-delivery", b"x-delivery-id")
_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class SiteHookEndpoints(Struct, frozen=True):
    hooks: SiteHooks
    public_url: str

    async def make_hook(self, exchange: Exchange, id: str, body: HookRequest) -> Response:
        return answer(await self.issue(exchange, id, body), 201, {"Cache-Control": "no-store"})

    async def issue(self, exchange: Exchange, id: str, wanted: HookRequest) -> ShownHook:
        """With what is shown only once."""
        issued = await self.hooks.make(exchange.caller, id, wanted, exchange.actor)
        url = f"{self.public_url.rstrip('/')}/hooks/sites/{id}/{issued.token}"
        return _to_api(issued.hook, url=url, secret=issued.secret)

    async def show_hook(self, exchange: Exchange, id: str) -> ShownHook:
        hook = await self.hooks.show(exchange.caller, id)
        return ShownHook(site_id=id, is_set_up=False) if hook is None else _to_api(hook)

    async def remove_hook(self, exchange: Exchange, id: str) -> ShownHook:
        await self.hooks.remove(exchange.caller, id, exchange.actor)
        return ShownHook(site_id=id, is_set_up=False)

    async def take_message(self, exchange: Exchange, id: str, token: str) -> HookTaken:
        delivery = next((text for name in _IDS if (text := exchange.header(name))), "")
        message = HookMessage(
            body=await exchange.body(),
            content_type=exchange.header(b"content-type") or "",
            delivery=delivery[:MAX_DELIVERY_CHARS],
            timestamp=exchange.header(b"webhook-timestamp") or "",
            signature=exchange.header(b"webhook-signature") or "",
            client=exchange.client,
            request_id=exchange.request_id,
        )
        return await self.hooks.receive(id, token, message)

    def routes(self) -> list[Route]:
        one: dict[str, Any] = {
            "needs": Role.USER,
            "tag": "Sites",
            "path": "/api/sites/{id}/hook",
            "parameters": {"id": "The site's id."},
        }
        return [
            Route(
                method="POST",
                handler=self.make_hook,
                idempotent=False,  # a replay would hand out the same secret again
                control=True,
                summary="Make or replace the incoming webhook of a site",
                description="Your content management system sends messages to `url` when pages change, and "
                "they are rendered again. The address is shown once. The one before goes on working for a "
                "while.",
                status=201,
                answers=ShownHook,
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                example_body=HookRequest(signed=True),
                example=ShownHook(
                    site_id=_ID,
                    is_set_up=True,
                    signed=True,
                    created_at="2026-01-01T12:00:00.000Z",
                    url=f"https://gossamer.example/hooks/sites/{_ID}/dGhpcyBpcyBvbmx5IGFuIGV4YW1wbGU",
                    secret="whsec_dGhpcyBpcyBvbmx5IGFuIGV4YW1wbGU=",  # noqa: S106
                ),
                **one,
            ),
            Route(
                method="GET",
                handler=self.show_hook,
                summary="Show the incoming webhook of a site",
                problems=(problems.NOT_FOUND,),
                example=ShownHook(
                    site_id=_ID, is_set_up=True, signed=True, created_at="2026-01-01T12:00:00.000Z"
                ),
                **one,
            ),
            Route(
                method="DELETE",
                handler=self.remove_hook,
                control=True,
                summary="Remove the incoming webhook of a site",
                problems=(problems.NOT_FOUND,),
                example=ShownHook(site_id=_ID, is_set_up=False),
                **one,
            ),
            Route(
                method="POST",
                path="/hooks/sites/{id}/{token}",
                handler=self.take_message,
                needs=Role.NOBODY,
                tag="Sites",
                has_secret_path=True,
                counted=False,  # it has a limit of its own, by site and by address
                idempotent=False,
                summary="Say that pages of a site have changed",
                description='For content management systems. The body is `{"url": …}`, `{"urls": […]}`, or '
                "any JSON or form with addresses of the site in fields that are named so. A message with "
                "`webhook-id` is taken once. The pages are rendered again within the site's daily budget.",
                status=202,
                max_body_bytes=MAX_MESSAGE_BYTES,
                parameters={"id": "The site's id.", "token": "The secret part of the address."},
                problems=(
                    problems.NOT_FOUND,
                    problems.UNAUTHORIZED,
                    problems.UNPROCESSABLE_ENTITY,
                    problems.IDEMPOTENCY_KEY_CONFLICT,
                    problems.QUOTA_EXCEEDED,
                ),
                example=HookTaken(pages=2, ignored=0),
            ),
        ]


def _to_api(hook: SiteHook, *, url: str | None = None, secret: str | None = None) -> ShownHook:
    return ShownHook(
        site_id=hook.site_id,
        is_set_up=True,
        signed=hook.secret_sealed is not None,
        created_at=timestamps.from_ms(hook.created_at),
        last_at=timestamps.from_ms(hook.last_at),
        old_until=timestamps.from_ms(hook.old_until),
        url=url,
        secret=secret,
    )
