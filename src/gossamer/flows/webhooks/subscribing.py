"""Subscribing: a caller names whom to tell of the work that it starts."""

from msgspec import Struct

from gossamer.flows.tenants.admit import Caller
from gossamer.flows.webhooks.webhook_keys import WebhookKeys, owner_of
from gossamer.problems import Problem
from gossamer.reach.net.dial import Dialer
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.webhooks import publishing
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.web.url.url import Url
from gossamer.web.webhooks.webhook import AcceptedWebhook, LongWork, WebhookRequest, WorkEvent


class PreparedWebhook(Struct, frozen=True):
    """A webhook that was checked; its work does not exist yet."""

    request: WebhookRequest
    owner: str
    secret: str
    headers_sealed: bytes | None

    @property
    def events(self) -> tuple[WorkEvent, ...]:
        return self.request.events or tuple(WorkEvent)

    @property
    def accepted(self) -> AcceptedWebhook:
        return AcceptedWebhook(url=self.request.url, events=self.events, secret=self.secret)

    def bind(self, kind: LongWork, work_id: str, tenant_id: str) -> WebhookEndpoint:
        return WebhookEndpoint(
            work_id=work_id,
            tenant_id=tenant_id,
            owner=self.owner,
            url=self.request.url,
            events=tuple(f"{kind}.{each}" for each in self.events),
            shape=self.request.shape,
            metadata=self.request.metadata,
            headers_sealed=self.headers_sealed,
        )


class WebhookSubscriber(Struct, frozen=True):
    dialer: Dialer
    keys: WebhookKeys

    async def prepare(self, request: WebhookRequest | None, caller: Caller) -> PreparedWebhook | None:
        """Before the transaction that starts the work. Raises `Problem` for a webhook that cannot be sent."""
        if request is None:
            return None
        request.check()
        judge(self.dialer, request.url)
        owner = owner_of(caller)
        sealed = await self.keys.seal(owner, request.headers)
        return PreparedWebhook(request, owner, await self.keys.secret_of(owner), sealed)

    async def subscribe(
        self,
        connection: AsyncConnection,
        prepared: PreparedWebhook | None,
        kind: LongWork,
        work_id: str,
        tenant_id: str,
    ) -> None:
        """In the transaction that starts the work."""
        if prepared is not None:
            await publishing.add_bound(connection, prepared.bind(kind, work_id, tenant_id), kind)


def judge(dialer: Dialer, address: str) -> None:
    """Raises `Problem` for an address that is forbidden as it is written."""
    try:
        url = Url.parse(address)
        dialer.admit(url.host, url.port)
    except Problem as problem:
        problem.detail = f"The address of the webhook is refused: {problem.detail}"
        raise
