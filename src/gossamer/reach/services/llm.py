"""Language models of the operator: what every client of one has in common."""

import json
from typing import Any, Final, NamedTuple, Protocol

from gossamer.problems import Unavailable
from gossamer.web.extract.model_prompt import ModelPrompt
from gossamer.web.extract.model_use import NO_TOKENS, TokenCounts

SECONDS: Final = 60.0  # for one answer, retries included
MAX_TOKENS: Final = 16_000  # of an answer, with the thinking before it
SERVICE: Final = "language model"
_END_OF_THINKING: Final = "</think>"
_MAX_REASON_CHARS: Final = 40
_DECODER: Final = json.JSONDecoder()


class ModelReply(NamedTuple):
    value: Any  # JSON from the model, unchecked
    tokens: TokenCounts


class ModelFailed(Unavailable):
    """The model gave no answer that can be read. It may have used tokens all the same."""

    def __init__(self, why: str, tokens: TokenCounts = NO_TOKENS) -> None:
        super().__init__(SERVICE, why)
        self.why = why
        self.tokens = tokens


class Model(Protocol):
    name: str

    async def ask(self, prompt: ModelPrompt) -> ModelReply:
        """Ask for an answer that follows the schema of the prompt. Raises only `ModelFailed`."""

    async def close(self) -> None: ...


def read_reply(text: str, tokens: TokenCounts, ended: str | None) -> ModelReply:
    """Find the JSON object in a text. Models that are not held to JSON put it in a fence, or think aloud
    first. `ended` is why the model stopped."""
    said = text.rpartition(_END_OF_THINKING)[2]
    begin = said.find("{")
    try:
        value, _ = _DECODER.raw_decode(said, begin if begin >= 0 else len(said))
    except (ValueError, RecursionError):
        why = (ended or "unknown")[:_MAX_REASON_CHARS]
        raise ModelFailed(f"its answer is not complete ({why})", tokens) from None
    return ModelReply(value, tokens)
