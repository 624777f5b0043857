"""The client of any API that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, LM Studio…

These APIs differ in how an answer is held to JSON. The strictest way is tried first, and the first one that
the API takes is kept. The schema is in the prompt too, because some APIs take it and ignore it.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from gossamer.problems import Unavailable
from gossamer.reach.http.retry import RetryBackoff, is_transient_status, retry_after
from gossamer.reach.services.endpoint import BOUNDS, ServiceEndpoint, ServiceReply
from gossamer.reach.services.llm import MAX_TOKENS, SECONDS, SERVICE, ModelFailed, ModelReply, read_reply
from gossamer.web.extract.model_prompt import ModelPrompt
from gossamer.web.extract.model_use import TokenCounts
from gossamer.web.extract.schema.schema import Json

ATTEMPTS: Final = 4
BACKOFF: Final = RetryBackoff(first=0.5)
_REFUSED: Final = (400, 422)  # the request, not the model
_IN_JSON: Final = "Answer with one JSON object and nothing else. It follows this JSON Schema:"


class OpenAiModel:
    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        key: str = "",
        seconds: float = SECONDS,
        backoff: RetryBackoff = BACKOFF,
        randomness: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._seconds = seconds
        self._backoff = backoff
        self._randomness = randomness
        self._way = 0  # the place in `_WAYS` of the one that is kept
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._endpoint = ServiceEndpoint(
            SERVICE,
            base_url,
            headers={"content-type": "application/json", **authorization},
            seconds=seconds,
            # A model may think for most of its time before the first byte, or between two of them. These
            # bounds are beyond the deadline, which ends the exchange.
            bounds=replace(BOUNDS, first_byte=2 * seconds, slow_after=2 * seconds),
        )

    async def ask(self, prompt: ModelPrompt) -> ModelReply:
        deadline = _now() + self._seconds
        for way in range(self._way, len(_WAYS)):
            reply = await self._send(self._body(prompt, _WAYS[way]), deadline)
            if reply.status == 200:
                self._way = way
                return _read(reply)
            if reply.status not in _REFUSED:
                break
        raise ModelFailed(f"it answers with status {reply.status}")

    async def close(self) -> None:
        await self._endpoint.close()

    def _body(self, prompt: ModelPrompt, way: Callable[[Json], Mapping[str, Any]]) -> bytes:
        system = f"{prompt.system}\n\n{_IN_JSON}\n{msgspec.json.encode(prompt.schema).decode()}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt.prompt}]
        return msgspec.json.encode({"model": self.name, "messages": messages, **way(prompt.schema)})

    async def _send(self, body: bytes, deadline: float) -> ServiceReply:
        """The first reply that does not ask to come back later, or the last one."""
        for attempt in range(1, ATTEMPTS + 1):
            reply = await self._send_once(body, deadline - _now())
            if not is_transient_status(reply.status):
                break
            pause = self._backoff.pause(
                attempt, self._randomness, retry_after(reply.retry_after, time.time())
            )
            if attempt == ATTEMPTS or _now() + pause >= deadline:
                break
            await asyncio.sleep(pause)
        return reply

    async def _send_once(self, body: bytes, seconds: float) -> ServiceReply:
        if seconds <= 0:
            raise ModelFailed("it takes too long")
        try:
            return await self._endpoint.ask("POST", "/chat/completions", body, seconds=seconds)
        except Unavailable as away:
            raise ModelFailed(away.reason or "") from None


def _now() -> float:
    return asyncio.get_running_loop().time()


# How an answer is held to JSON. The last way has nothing that an API could refuse.


def _by_schema(schema: Json) -> Mapping[str, Any]:
    named = {"name": "answer", "strict": True, "schema": schema}
    return _bounded({"type": "json_schema", "json_schema": named})


def _by_type(_schema: Json) -> Mapping[str, Any]:
    return _bounded({"type": "json_object"})


def _by_prompt(_schema: Json) -> Mapping[str, Any]:
    return {}


def _bounded(form: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"response_format": form, "max_completion_tokens": MAX_TOKENS}


_WAYS: Final = (_by_schema, _by_type, _by_prompt)


# The answer.


class _ChatMessage(msgspec.Struct):
    content: str | None = None


class _ChatChoice(msgspec.Struct):
    message: _ChatMessage
    finish_reason: str | None = None


class _ChatUsage(msgspec.Struct):
    prompt_tokens: Annotated[int, Meta(ge=0)] = 0
    completion_tokens: Annotated[int, Meta(ge=0)] = 0


class _ChatCompletion(msgspec.Struct):
    choices: Annotated[list[_ChatChoice], Meta(min_length=1)]
    usage: _ChatUsage | None = None


def _read(reply: ServiceReply) -> ModelReply:
    try:
        completion = msgspec.json.decode(reply.body, type=_ChatCompletion)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ModelFailed("its answer is not what was expected") from None
    usage, choice = completion.usage or _ChatUsage(), completion.choices[0]
    tokens = TokenCounts(usage.prompt_tokens, usage.completion_tokens)
    return read_reply(choice.message.content or "", tokens, choice.finish_reason)
