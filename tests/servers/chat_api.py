"""A server on loopback that speaks OpenAI's chat completions, with or without what not every API has."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.servers.messages_api import is_plain
from tests.servers.model_server import Cut, ModelApi, Status, serving

MODEL = "llama3.2:3b"


@dataclass
class ChatApi(ModelApi):
    key: str = ""  # empty: as a server at home, which asks for none
    forms: tuple[str, ...] = ("json_schema", "json_object")  # of answers that it can be held to
    counts: bool = True  # whether it tells the tokens
    instead: Any = None  # of every answer, with the status of success

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def prompt(self) -> str:
        """What was asked last."""
        text: str = self.requests[-1]["messages"][1]["content"]
        return text

    def answer(self, target: str, body: dict[str, Any]) -> tuple[int, Any]:
        if target != "/v1/chat/completions":
            return _error(404)
        if self.key and self.headers[-1].get("authorization") != f"Bearer {self.key}":
            return _error(401)
        if not self._is_acceptable(body):
            return _error(400)
        if self.instead is not None:
            return 200, self.instead
        said = self.says(body)
        return _error(said.code) if isinstance(said, Status) else (200, self._completion(said))

    def _is_acceptable(self, body: dict[str, Any]) -> bool:
        form = body.get("response_format", {"type": None})
        if form["type"] is not None and form["type"] not in self.forms:
            return False
        if form["type"] == "json_schema" and not is_plain(form["json_schema"]["schema"]):
            return False
        asked = [one["role"] for one in body["messages"]]
        return isinstance(body.get("model"), str) and asked == ["system", "user"]

    def _completion(self, said: Any) -> Any:
        cut = said if isinstance(said, Cut) else Cut(json.dumps(said), "stop")
        message = {"role": "assistant", "content": cut.text or None}
        usage = {"prompt_tokens": 321, "completion_tokens": 45, "total_tokens": 366}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": cut.stop_reason}],
            **({"usage": usage} if self.counts else {}),
        }


def _error(status: int) -> tuple[int, Any]:
    return status, {"error": {"message": "said the test", "type": "invalid_request_error"}}


@asynccontextmanager
async def chat_api(**options: Any) -> AsyncIterator[ChatApi]:
    api = ChatApi(**options)
    async with serving(api):
        yield api
