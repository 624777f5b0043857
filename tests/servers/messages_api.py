"""A server on loopback that speaks the Messages API with structured outputs, and says what a test wants."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.servers.model_server import Cut, ModelApi, Status, serving

KEY = "sk-ant-test-key"
MODEL = "claude-haiku-5-5"


class MessagesApi(ModelApi):
    @property
    def prompt(self) -> str:
        """What was asked last."""
        text: str = self.requests[-1]["messages"][0]["content"]
        return text

    def answer(self, target: str, body: dict[str, Any]) -> tuple[int, Any]:
        if target != "/v1/messages":
            return _error(404, "not_found_error")
        headers = self.headers[-1]
        sent = {headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer ")}
        if KEY not in sent or "anthropic-version" not in headers:
            return _error(401, "authentication_error")
        if not _is_acceptable(body):
            return _error(400, "invalid_request_error")
        said = self.says(body)
        if isinstance(said, Status):
            return _error(said.code, said.kind)
        return 200, _message(body["model"], said)


def _is_acceptable(body: dict[str, Any]) -> bool:
    """As strict about the schema as the real one: no open objects, nothing optional, no bounds."""
    given = body.get("output_config", {}).get("format", {})
    asked = [one["role"] for one in body.get("messages", [])]
    return (
        isinstance(body.get("max_tokens"), int)
        and isinstance(body.get("model"), str)
        and asked == ["user"]
        and given.get("type") == "json_schema"
        and is_plain(given.get("schema"))
    )


def is_plain(schema: Any) -> bool:
    if not isinstance(schema, dict) or not set(schema) <= {
        "type", "properties", "required", "additionalProperties", "items", "enum", "description",
    }:  # fmt: skip
        return False
    if schema["type"] == "array":
        return is_plain(schema["items"])
    if schema["type"] != "object":
        return True
    members = schema["properties"]
    closed = schema.get("additionalProperties") is False and set(schema["required"]) == set(members)
    return closed and all(map(is_plain, members.values()))


def _message(model: str, said: Any) -> dict[str, Any]:
    cut = said if isinstance(said, Cut) else Cut(json.dumps(said), "end_turn")
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": cut.text}] if cut.text else [],
        "stop_reason": cut.stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 321, "output_tokens": 45},
    }


def _error(status: int, kind: str) -> tuple[int, Any]:
    return status, {"type": "error", "error": {"type": kind, "message": "said the test"}}


@asynccontextmanager
async def messages_api() -> AsyncIterator[MessagesApi]:
    api = MessagesApi()
    async with serving(api):
        yield api
