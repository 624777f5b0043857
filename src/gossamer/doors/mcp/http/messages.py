"""Reads an MCP message off an HTTP request, in the rules of the revision that its header names."""

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
import msgspec
from mcp.server.connection import Connection
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.core.exchange import Exchange

JSON: Final = "application/json"
Id = str | int | None
_DECODER: Final = msgspec.json.Decoder(dict[str, Any])


class RejectedMessage(Exception):
    """The message breaks a rule of the protocol."""

    def __init__(self, id: Id, code: int, message: str, data: Any = None, status: int | None = None) -> None:
        super().__init__(message)
        self.id = id
        self.error = types.ErrorData(code=code, message=message, data=data)
        self.status = status or ERROR_CODE_HTTP_STATUS.get(code, 400)


class InboundMessage(Struct, frozen=True):
    """A request, or a notification, which has no id."""

    id: Id
    method: str
    params: dict[str, Any] | None
    revision: str  # of the protocol
    is_modern: bool  # it brings everything with it, and errors have statuses of their own
    is_request: bool = True
    client: InboundModernRoute | None = None  # what a modern request says about its sender

    def connection(self) -> Connection:
        """The sender, as the SDK wants to know it."""
        if self.client is None:
            return Connection.from_envelope(self.revision, None, None)
        return Connection.from_envelope(
            self.revision, self.client.client_info, self.client.client_capabilities
        )


def read_message(exchange: Exchange, body: bytes) -> InboundMessage:
    """Raises `RejectedMessage`."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in exchange.scope["headers"]}
    message = _decode(body)
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    is_modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
    if "id" not in message:
        return _read_notification(message, version or "", is_modern=is_modern)
    message_id, method, params = message["id"], message.get("method"), message.get("params")
    if (
        not isinstance(message_id, str | int)
        or isinstance(message_id, bool)
        or not isinstance(method, str)
        or not isinstance(params, dict | None)
    ):
        raise RejectedMessage(
            None, types.INVALID_REQUEST, "The body is not a request of JSON-RPC 2.0.", status=400
        )
    if not is_modern:
        return InboundMessage(
            message_id, method, params, version or types.DEFAULT_NEGOTIATED_VERSION, is_modern
        )
    client = _classify(exchange, headers, message_id, message)
    return InboundMessage(message_id, method, params, client.protocol_version, is_modern, client=client)


def _decode(body: bytes) -> dict[str, Any]:
    try:
        message = _DECODER.decode(body)
    except msgspec.ValidationError:
        raise RejectedMessage(
            None, types.INVALID_REQUEST, "The body must be one message, not a list of them.", status=400
        ) from None
    except (msgspec.DecodeError, RecursionError):
        raise RejectedMessage(None, types.PARSE_ERROR, "The body is not JSON.", status=400) from None
    if message.get("jsonrpc") != "2.0":
        raise RejectedMessage(
            None, types.INVALID_REQUEST, "The body is not a message of JSON-RPC 2.0.", status=400
        )
    return message


def _read_notification(message: dict[str, Any], version: str, *, is_modern: bool) -> InboundMessage:
    """Notifications, and answers to requests that we never make, are accepted and ignored."""
    if is_modern and (rejection := unsupported_protocol_version_rejection(version)) is not None:
        raise _rejected(None, rejection)
    method = str(message.get("method", ""))
    return InboundMessage(None, method, None, version, is_modern, is_request=False)


def _classify(
    exchange: Exchange, headers: Mapping[str, str], id: Id, message: dict[str, Any]
) -> InboundModernRoute:
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in exchange.scope["headers"]]
    if (twice := find_duplicated_routing_header(pairs)) is not None:
        raise RejectedMessage(id, types.HEADER_MISMATCH, f"{twice} header appears more than once", status=400)
    verdict = classify_inbound_request(message, headers=headers)
    if isinstance(verdict, InboundLadderRejection):
        raise _rejected(id, verdict)
    return verdict


def _rejected(id: Id, rejection: InboundLadderRejection) -> RejectedMessage:
    return RejectedMessage(id, rejection.code, rejection.message, rejection.data)


# Answers.


def result_answer(id: Id, result: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result})


def error_answer(id: Id, error: types.ErrorData) -> bytes:
    shown = {"code": error.code, "message": error.message}
    if error.data is not None:
        shown["data"] = error.data
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": shown})


def rejection_response(rejected: RejectedMessage) -> Response:
    return Response(error_answer(rejected.id, rejected.error), rejected.status, media_type=JSON)


def as_event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"
