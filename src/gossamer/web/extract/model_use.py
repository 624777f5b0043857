"""ModelUse: how a language model took part in an answer, and what that cost."""

from typing import Annotated, Final, Literal, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

_DECIMALS: Final = 9  # a token costs less than a millionth of a dollar


class TokenCounts(NamedTuple):
    """Tokens that the model says it has read and written."""

    input: int = 0
    output: int = 0


NO_TOKENS: Final = TokenCounts()


class TokenPrices(NamedTuple):
    """Dollars for a million tokens."""

    input: float
    output: float

    def cost(self, tokens: TokenCounts) -> float:
        """In dollars."""
        return round((tokens.input * self.input + tokens.output * self.output) / 1e6, _DECIMALS)


class ModelUse(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How a language model took part."""

    name: str
    status: Literal["ok", "failed"]
    input_tokens: int
    output_tokens: int
    cost_usd: Annotated[
        float | UnsetType, Meta(description="Dollars for these tokens, if the server knows the prices.")
    ] = UNSET
    reason: Annotated[str, Meta(description="Why it failed.")] = ""
