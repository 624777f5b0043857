"""The pages about webhooks: the endpoints, what each was sent, and what was answered."""

from contextlib import AbstractAsyncContextManager
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.webhooks.deliveries import DeliveriesEndpoints, DeliveryQuery
from gossamer.doors.http.api.webhooks.webhooks import EVENT_TYPES, WebhookQuery, WebhooksEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.flows.webhooks.registry import IssuedWebhook
from gossamer.problems import validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.tenants.tenants import Role
from gossamer.web.webhooks.attempt import DeliveryState
from gossamer.web.webhooks.delivery import ResendRequest
from gossamer.web.webhooks.endpoint import NewWebhook, SecretRotation, ShownWebhook, WebhookChange

_HERE: Final = "webhooks"
_LIST: Final = "/app/webhooks"
_NEW: Final = "/app/webhooks/new"
_ONE: Final = "/app/webhooks/{id}"
_DELIVERY: Final = "/app/webhooks/{id}/deliveries/{delivery}"
Issuing = AbstractAsyncContextManager[tuple[AsyncConnection, IssuedWebhook]]
T = TypeVar("T", NewWebhook, WebhookChange)
LASTING: Final = (("3600", "an hour"), ("86400", "a day"), ("604800", "a week"), ("0", "not at all"))


class WebhooksView(msgspec.Struct):
    """Which webhooks to show."""

    cursor: str = ""


class DeliveriesView(msgspec.Struct):
    """Which deliveries of a webhook to show; empty is all."""

    state: str = ""
    cursor: str = ""


class WebhookPages(Struct, frozen=True):
    dashboard: Dashboard
    webhooks: WebhooksEndpoints
    deliveries: DeliveriesEndpoints

    async def show(self, exchange: Exchange, query: WebhooksView) -> Response:
        chosen = filters(query)
        found = await self.webhooks.list_webhooks(exchange, chosen.to(WebhookQuery))
        return self.dashboard.render(
            exchange,
            "webhooks/list.html",
            here=_HERE,
            webhooks=[(one, state_of(one)) for one in found.webhooks],
            is_admin=exchange.caller.role is Role.ADMIN,
            **list_links(_LIST, chosen, found.next_cursor),
        )

    async def show_new(self, exchange: Exchange, form: Form = NO_FORM) -> Response:
        return self.dashboard.render(
            exchange, "webhooks/new.html", here=_HERE, form=form, types=_types(exchange)
        )

    async def create(self, exchange: Exchange, form: Form) -> Response:
        new = NewWebhook(
            url=form["url"].strip(),
            events=tuple(form.lines("events")) or ("*",),
            description=form["description"],
            headers=_headers(form),
        )
        creating = self.webhooks.registry.creating(_checked(new), exchange.caller, exchange.actor)
        return await self._issue(exchange, creating, rotated=False)

    async def show_one(
        self, exchange: Exchange, id: str, query: DeliveriesView | None = None, form: Form = NO_FORM
    ) -> Response:
        chosen = filters(query or DeliveriesView())
        webhook = await self.webhooks.get_webhook(exchange, id)
        found = await self.deliveries.list_deliveries(exchange, id, chosen.to(DeliveryQuery))
        return self.dashboard.render(
            exchange,
            "webhooks/one.html",
            here=_HERE,
            form=form,
            webhook=webhook,
            state=state_of(webhook),
            found=found,
            filters=chosen,
            states=tuple(DeliveryState),
            lasting=LASTING,
            types=_types(exchange),
            is_admin=exchange.caller.role is Role.ADMIN,
            **list_links(_ONE.format(id=id), chosen, found.next_cursor),
        )

    async def show_again(self, exchange: Exchange, id: str, form: Form) -> Response:
        return await self.show_one(exchange, id, None, form)

    async def show_listed(self, exchange: Exchange, id: str, query: DeliveriesView) -> Response:
        return await self.show_one(exchange, id, query)

    async def change(self, exchange: Exchange, form: Form, id: str) -> Response:
        change = WebhookChange(
            url=form["url"].strip(),
            events=tuple(form.lines("events")) or ("*",),
            description=form["description"],
        )
        if form["headers"].strip() or form.is_on("no_headers"):
            change = msgspec.structs.replace(change, headers=_headers(form))
        await self.webhooks.change_webhook(exchange, id, _checked(change))
        return self.dashboard.see(_ONE.format(id=id), notice="webhook-changed")

    async def enable(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.webhooks.change_webhook(exchange, id, WebhookChange(enabled=True))
        return self.dashboard.see(_ONE.format(id=id), notice="webhook-enabled")

    async def disable(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.webhooks.change_webhook(exchange, id, WebhookChange(enabled=False))
        return self.dashboard.see(_ONE.format(id=id), notice="webhook-disabled")

    async def test(self, exchange: Exchange, form: Form, id: str) -> Response:
        sent = await self.webhooks.test_webhook(exchange, id)
        return self.dashboard.see(_DELIVERY.format(id=id, delivery=sent.id))

    async def rotate(self, exchange: Exchange, form: Form, id: str) -> Response:
        wanted = Form({"oldSecretSeconds": form["oldSecretSeconds"]}).to(SecretRotation)
        rotating = self.webhooks.registry.rotating(id, wanted, exchange.caller, exchange.actor)
        return await self._issue(exchange, rotating, rotated=True)

    async def _issue(self, exchange: Exchange, issuing: Issuing, *, rotated: bool) -> Response:
        """The page with the secret. It is remembered with the change, so a repeat shows it again."""
        async with issuing as (connection, issued):
            page = self.dashboard.render(
                exchange,
                "webhooks/issued.html",
                here=_HERE,
                webhook=await self.webhooks.show_issued(issued),
                rotated=rotated,
            )
            await exchange.remember(connection, page)
        return page

    async def show_secret(self, exchange: Exchange, id: str) -> Response:
        webhook = await self.webhooks.get_webhook(exchange, id)
        shown = await self.webhooks.get_secret(exchange, id)
        return self.dashboard.render(
            exchange, "webhooks/secret.html", here=_HERE, webhook=webhook, secret=shown.secret
        )

    async def ask_to_remove(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        webhook = await self.webhooks.get_webhook(exchange, id)
        return self.dashboard.ask_to_delete(
            exchange,
            _ONE.format(id=id),
            noun="webhook",
            subject=webhook.url,
            consequence="It hears of nothing any more, and the log of what it was sent goes with it.",
            form=form,
        )

    async def remove(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.webhooks.remove_webhook(exchange, id)
        return self.dashboard.see(_LIST, notice="webhook-removed")

    async def resend_all(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.deliveries.retry_given_up(exchange, id, ResendRequest())
        return self.dashboard.see(_ONE.format(id=id), notice="deliveries-resent")

    async def show_delivery(
        self, exchange: Exchange, id: str, delivery: str, form: Form = NO_FORM
    ) -> Response:
        webhook = await self.webhooks.get_webhook(exchange, id)
        shown = await self.deliveries.get_delivery(exchange, id, delivery)
        return self.dashboard.render(
            exchange,
            "webhooks/delivery.html",
            here=_HERE,
            form=form,
            webhook=webhook,
            delivery=shown,
            body=_pretty(shown.body),
        )

    async def resend(self, exchange: Exchange, form: Form, id: str, delivery: str) -> Response:
        await self.deliveries.retry_delivery(exchange, id, delivery)
        return self.dashboard.see(_DELIVERY.format(id=id, delivery=delivery), notice="delivery-resent")

    def routes(self) -> list[Route]:
        page, form, again = self.dashboard.page, self.dashboard.form, self.show_again
        return [
            page(_LIST, self.show, "Webhooks"),
            page(_NEW, self.show_new, "A new webhook"),
            form(_NEW, self.create, "Register a webhook", show=self.show_new),
            page(_ONE, self.show_listed, "A webhook"),
            form(_ONE, self.change, "Change a webhook", show=again),
            form(f"{_ONE}/enable", self.enable, "Enable a webhook", show=again),
            form(f"{_ONE}/disable", self.disable, "Disable a webhook", show=again),
            form(f"{_ONE}/test", self.test, "Send a test event", show=again),
            form(f"{_ONE}/rotate", self.rotate, "Replace the secret of a webhook", show=again),
            form(f"{_ONE}/retry", self.resend_all, "Send again what was given up", show=again),
            page(f"{_ONE}/secret", self.show_secret, "The secret of a webhook"),
            page(f"{_ONE}/delete", self.ask_to_remove, "Remove a webhook?"),
            form(f"{_ONE}/delete", self.remove, "Remove a webhook", show=self.ask_to_remove),
            page(_DELIVERY, self.show_delivery, "A delivery"),
            form(f"{_DELIVERY}/retry", self.resend, "Send a delivery again", show=self.show_delivery),
        ]


def state_of(webhook: ShownWebhook) -> str:
    if not webhook.is_enabled:
        return "disabled"
    return "enabled" if webhook.failing_since is None else "failing"


def _types(exchange: Exchange) -> list[tuple[str, str]]:
    is_admin = exchange.caller.role is Role.ADMIN
    return [(each.type, each.about) for each in EVENT_TYPES.types if is_admin or not each.for_operators]


def _headers(form: Form) -> dict[str, str]:
    pairs = [line.partition(":") for line in form.lines("headers")]
    if any(not colon for _, colon, _ in pairs):
        raise validation_error(
            "A header is not written as `Name: value`.",
            hint="One header a line.",
            details={"field": "headers"},
        )
    return {name.strip(): value.strip() for name, _, value in pairs}


def _checked(made: T) -> T:
    """With the bounds of its type, which making it does not check."""
    try:
        return msgspec.convert(msgspec.to_builtins(made), type(made))
    except msgspec.ValidationError as error:
        raise validation_error(str(error), hint="Correct the field and send the form again.") from None


def _pretty(body: str | None) -> str:
    return "" if body is None else msgspec.json.format(body, indent=2)
