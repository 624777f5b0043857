"""JSON-RPC over HTTP, to a node of a chain. The address may hold a key, so it appears in no message."""

from typing import Any, Final, TypeVar

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach.services.endpoint import ServiceEndpoint

T = TypeVar("T")
SECONDS: Final = 5.0


class _Fault(msgspec.Struct):
    code: int


class _Reply(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: _Fault | None = None


class JsonRpc:
    def __init__(self, service: str, url: str, *, seconds: float = SECONDS) -> None:
        base, _, query = url.partition("?")
        headers = {"content-type": "application/json"}
        self._endpoint = ServiceEndpoint(service, base.rstrip("/"), headers=headers, seconds=seconds)
        self._path = f"?{query}" if query else ""
        self.service = service

    async def ask(self, kind: type[T], method: str, *parameters: Any) -> T:
        """Raises `Unavailable`, also for an answer of another kind."""
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        answer = await self._endpoint.ask("POST", self._path, msgspec.json.encode(question))
        if answer.status != 200:
            raise Unavailable(self.service, f"status {answer.status}")
        try:
            reply = msgspec.json.decode(answer.body, type=_Reply)
            if reply.error is None:
                return msgspec.json.decode(reply.result, type=kind)
        except (ValueError, RecursionError):
            raise Unavailable(self.service, "its answer makes no sense") from None
        raise Unavailable(self.service, f"error {reply.error.code}")

    async def close(self) -> None:
        await self._endpoint.close()
