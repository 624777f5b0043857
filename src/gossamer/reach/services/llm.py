"""The client of a language model behind Anthropic's Messages API, with answers that follow a schema.

The SDK is an extra (`gossamer[llm]`) and slow to import, so a thread imports it when it is first needed.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gossamer.problems import Unavailable

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message

SECONDS: Final = 60.0  # for one answer, retries included
RETRIES: Final = 1
MAX_TOKENS: Final = 16_000  # of an answer, with the thinking before it
SERVICE: Final = "language model"


@dataclass(frozen=True, slots=True)
class ModelReply:
    value: Any  # JSON from the model, unchecked
    input_tokens: int
    output_tokens: int


class Model:
    def __init__(self, key: str, name: str, *, base_url: str, seconds: float = SECONDS) -> None:
        self.name = name
        self._key = key
        self._base_url = base_url
        self._seconds = seconds
        self._client: AsyncAnthropic | None = None
        self._opening = asyncio.Lock()

    async def answer(self, system: str, prompt: str, schema: Mapping[str, Any]) -> ModelReply:
        """Ask the model for an answer that follows the schema. Raises only `Unavailable`."""
        client = await self._get_client()
        import anthropic

        try:
            async with asyncio.timeout(self._seconds):
                message = await client.messages.create(
                    model=self.name,
                    max_tokens=MAX_TOKENS,
                    system=system,
                    messages=[{"role": "user", "content": prompt}],
                    output_config={"format": {"type": "json_schema", "schema": dict(schema)}},
                )
        except TimeoutError:
            raise Unavailable(SERVICE, "it takes too long") from None
        except anthropic.APIStatusError as error:
            raise Unavailable(SERVICE, f"it answers with status {error.status_code}") from None
        except anthropic.AnthropicError as error:
            # Only the kind of the error, because its text may repeat the request.
            raise Unavailable(SERVICE, type(error).__name__) from None
        return _answer(message)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _get_client(self) -> "AsyncAnthropic":
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client

    def _open(self) -> "AsyncAnthropic":
        try:
            from anthropic import AsyncAnthropic
        except ImportError:
            raise Unavailable(SERVICE, "gossamer[llm] is not installed") from None
        return AsyncAnthropic(
            api_key=self._key, base_url=self._base_url, timeout=self._seconds, max_retries=RETRIES
        )


def _answer(message: "Message") -> ModelReply:
    text = "".join(block.text for block in message.content if block.type == "text")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unavailable(SERVICE, f"its answer is not complete ({message.stop_reason})") from None
    return ModelReply(value, message.usage.input_tokens, message.usage.output_tokens)
