"""PageModel: the operator's language model, as it is asked about pages."""

import secrets
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from msgspec import UNSET, Struct, field

from gossamer.observe.logs import Log
from gossamer.problems import UNPROCESSABLE_ENTITY, Problem
from gossamer.reach.services.llm import Model, ModelFailed
from gossamer.web.extract.model_prompt import ModelPrompt
from gossamer.web.extract.model_use import ModelUse, TokenCounts, TokenPrices
from gossamer.web.extract.summary_prompt import build_summary_prompt, read_summary

_NO_SUMMARY: Final = "its answer has no summary"


class ModelTurn(NamedTuple):
    value: Any  # what the model said; None if it failed
    used: ModelUse


class PageModel(Struct, frozen=True):
    model: Model
    log: Log
    prices: TokenPrices | None = None
    boundary: Callable[[], str] = field(default=lambda: f"page-{secrets.token_hex(16)}")

    @property
    def name(self) -> str:
        return self.model.name

    async def ask(self, prompt: ModelPrompt) -> ModelTurn:
        """A model that fails is no reason to fail: the page is there without it."""
        try:
            reply = await self.model.ask(prompt)
        except ModelFailed as failed:
            return self._fail(failed.tokens, failed.why)
        return ModelTurn(reply.value, self._use("ok", reply.tokens))

    async def summarise(self, *, url: str, text: str, query: str) -> ModelTurn:
        """The value is the summary, as text."""
        prompt = build_summary_prompt(url=url, text=text, query=query, boundary=self.boundary())
        said, used = await self.ask(prompt)
        if used.status == "failed":
            return ModelTurn(None, used)
        summary = read_summary(said)
        if not summary:
            return self._fail(TokenCounts(used.input_tokens, used.output_tokens), _NO_SUMMARY)
        return ModelTurn(summary, used)

    async def close(self) -> None:
        await self.model.close()

    def _fail(self, tokens: TokenCounts, why: str) -> ModelTurn:
        self.log.warning("model_away", "what a model was to fill in is missing", why=why)
        return ModelTurn(None, self._use("failed", tokens, why))

    def _use(self, status: Literal["ok", "failed"], tokens: TokenCounts, why: str = "") -> ModelUse:
        return ModelUse(
            name=self.name,
            status=status,
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cost_usd=UNSET if self.prices is None else self.prices.cost(tokens),
            reason=why,
        )


def no_model(detail: str, hint: str) -> Problem:
    return Problem(
        UNPROCESSABLE_ENTITY,
        detail,
        hint=f"{hint} The operator can set GOSSAMER_OPENAI_MODEL or ANTHROPIC_API_KEY.",
        details={"reason": "no_model"},
    )
