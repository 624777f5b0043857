"""The client of Anthropic's Messages API.

The SDK is an extra (`gossamer[llm]`) and slow to import, so a thread imports it when it is first needed.
"""

import asyncio
from typing import TYPE_CHECKING, Final

from gossamer.reach.services.llm import MAX_TOKENS, SECONDS, ModelFailed, ModelReply, read_reply
from gossamer.web.extract.model_prompt import ModelPrompt
from gossamer.web.extract.model_use import TokenCounts

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message

RETRIES: Final = 1


class AnthropicModel:
    def __init__(self, key: str, name: str, *, base_url: str, seconds: float = SECONDS) -> None:
        self.name = name
        self._key = key
        self._base_url = base_url
        self._seconds = seconds
        self._client: AsyncAnthropic | None = None
        self._opening = asyncio.Lock()

    async def ask(self, prompt: ModelPrompt) -> ModelReply:
        client = await self._get_client()
        import anthropic

        try:
            async with asyncio.timeout(self._seconds):
                message = await client.messages.create(
                    model=self.name,
                    max_tokens=MAX_TOKENS,
                    system=prompt.system,
                    messages=[{"role": "user", "content": prompt.prompt}],
                    output_config={"format": {"type": "json_schema", "schema": prompt.schema}},
                )
        except TimeoutError:
            raise ModelFailed("it takes too long") from None
        except anthropic.APIStatusError as error:
            raise ModelFailed(f"it answers with status {error.status_code}") from None
        except anthropic.AnthropicError as error:
            # Only the kind of the error, because its text may repeat the request.
            raise ModelFailed(type(error).__name__) from None
        return _read(message)

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
            raise ModelFailed("gossamer[llm] is not installed") from None
        return AsyncAnthropic(
            api_key=self._key, base_url=self._base_url, timeout=self._seconds, max_retries=RETRIES
        )


def _read(message: "Message") -> ModelReply:
    text = "".join(block.text for block in message.content if block.type == "text")
    tokens = TokenCounts(message.usage.input_tokens, message.usage.output_tokens)
    return read_reply(text, tokens, message.stop_reason)
