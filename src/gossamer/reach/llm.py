"""A language model behind Anthropic's Messages API, whose answers hold to a schema.

The SDK is an extra (`gossamer[llm]`) and slow to import, so it is imported when it is first needed, aside.
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
MOST_TOKENS: Final = 16_000  # of an answer, and of what the model thinks before it
SERVICE: Final = "language model"


@dataclass(frozen=True, slots=True)
class Answer:
    value: Any  # JSON, as the model gave it; nothing is checked
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

    async def answer(self, system: str, prompt: str, schema: Mapping[str, Any]) -> Answer:
        """What the model says, asked to hold to the schema. Raises `Unavailable`, and nothing else."""
        client = await self._opened()
        import anthropic

        try:
            async with asyncio.timeout(self._seconds):
                message = await client.messages.create(
                    model=self.name,
                    max_tokens=MOST_TOKENS,
                    system=system,
                    messages=[{"role": "user", "content": prompt}],
                    output_config={"format": {"type": "json_schema", "schema": dict(schema)}},
                )
        except TimeoutError:
            raise Unavailable(SERVICE, "it takes too long") from None
        except anthropic.APIStatusError as error:
            raise Unavailable(SERVICE, f"it answers with status {error.status_code}") from None
        except anthropic.AnthropicError as error:
            # Its kind and no more: what it says may repeat what was sent.
            raise Unavailable(SERVICE, type(error).__name__) from None
        return _answer(message)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _opened(self) -> "AsyncAnthropic":
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


def _answer(message: "Message") -> Answer:
    text = "".join(block.text for block in message.content if block.type == "text")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unavailable(SERVICE, f"its answer is not complete ({message.stop_reason})") from None
    return Answer(value, message.usage.input_tokens, message.usage.output_tokens)
