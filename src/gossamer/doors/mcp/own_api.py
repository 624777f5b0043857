"""OwnApi: our own API, as one tool call uses it."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gossamer.client.transport import Call, Reply, Transport

EVENTS: Final = "text/event-stream"
_RECEIPT: Final = "payment-response"
_TERMS: Final = "payment-required"
_CAPABILITY: Final = "x-order-capability"


class Refused(Exception):
    """The API has answered with a problem."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.status = reply.status
        self.terms = reply.headers.get(_TERMS)  # what it costs, if it can be paid for
        self.receipt = reply.headers.get(_RECEIPT)  # of a payment that has failed
        self.problem = _document(reply)


class OwnApi:
    """The first call that changes something carries the payment; what follows only looks at its result. What
    a wallet has ordered is opened by the capability that came with the answer."""

    def __init__(self, transport: Transport, payment: Mapping[str, str] | None = None) -> None:
        self._transport = transport
        self._payment = dict(payment or {})
        self.receipt: str | None = None
        self.capability: str | None = None  # a secret

    @property
    def is_paid(self) -> bool:
        return bool(self._payment)

    async def post(self, path: str, body: Any) -> Any:
        reply = await self._send(Call("POST", path, self._payment, msgspec.json.encode(body)))
        self.receipt = reply.headers.get(_RECEIPT)
        self.capability = reply.headers.get(_CAPABILITY, self.capability)
        return msgspec.json.decode(reply.body)

    async def get(self, path: str, *, pays: bool = False) -> Any:
        """`pays`: it is what the tool was paid for."""
        reply = await self._send(Call("GET", path, self._payment if pays else {}))
        self.receipt = reply.headers.get(_RECEIPT, self.receipt)
        return msgspec.json.decode(reply.body)

    async def patch(self, path: str, body: Any) -> Any:
        reply = await self._send(Call("PATCH", path, {}, msgspec.json.encode(body)))
        return msgspec.json.decode(reply.body)

    async def text(self, path: str) -> str:
        return (await self._send(Call("GET", path))).body.decode("utf-8", "replace")

    async def delete(self, path: str) -> Any:
        return msgspec.json.decode((await self._send(Call("DELETE", path))).body)

    async def events(self, path: str) -> AsyncIterator[Any]:
        """The data of server-sent events, until the stream ends."""
        call = self._authorised(Call("GET", path, {"accept": EVENTS}))
        async with self._transport.stream(call) as streamed:
            if streamed.status >= 400:
                body = b"".join([piece async for piece in streamed.body])
                raise Refused(Reply(streamed.status, streamed.headers, body))
            rest = b""
            async for piece in streamed.body:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: "):
                        yield msgspec.json.decode(line.removeprefix(b"data: "))

    async def _send(self, call: Call) -> Reply:
        reply = await self._transport.send(self._authorised(call))
        if reply.status >= 400:
            raise Refused(reply)
        return reply

    def _authorised(self, call: Call) -> Call:
        if self.capability is None:
            return call
        return replace(call, headers={**call.headers, "authorization": f"Bearer {self.capability}"})


def _document(reply: Reply) -> dict[str, Any]:
    """The problem; what stands between us and a server elsewhere may answer with something else."""
    try:
        found = msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        found = None
    return (
        found if isinstance(found, dict) else {"code": "", "detail": f"The server answered {reply.status}."}
    )
