"""A transformer that embeds texts: the encoder of BERT and its kin, in numpy.

The tokens of several texts stand in one matrix, one below the other, so that the large products are done for
all at once; only attention looks at each text by itself. No text is padded.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

# The error function by Abramowitz and Stegun, 7.1.26, to seven digits.
_ERF_T: Final = np.float32(0.3275911)
_ERF: Final = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))


class TransformerShape(msgspec.Struct):
    """What `config.json` says of it, as the field writes it."""

    model_type: str
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int = 512
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"
    pad_token_id: int | None = 0

    @property
    def first_position(self) -> int:
        """RoBERTa counts positions from the one after padding."""
        return 0 if self.model_type == "bert" else (self.pad_token_id or 0) + 1


class Linear(Struct, frozen=True):
    weights: Matrix  # transposed, and in order
    bias: Matrix

    def __call__(self, values: Matrix) -> Matrix:
        product: Matrix = values @ self.weights
        product += self.bias
        return product


class LayerNorm(Struct, frozen=True):
    scale: Matrix
    bias: Matrix
    epsilon: float

    def __call__(self, values: Matrix) -> Matrix:
        centred: Matrix = values - values.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred)[:, None] / np.float32(values.shape[1])
        centred /= np.sqrt(variance + np.float32(self.epsilon))
        centred *= self.scale
        centred += self.bias
        return centred


class EncoderLayer(Struct, frozen=True):
    query_key_value: Linear
    attended: Linear
    after_attention: LayerNorm
    wide: Linear
    narrow: Linear
    after: LayerNorm
    heads: int

    def __call__(self, values: Matrix, bounds: Sequence[tuple[int, int]]) -> Matrix:
        values = self.after_attention(values + self.attended(self._attend(values, bounds)))
        return self.after(values + self.narrow(_gelu(self.wide(values))))

    def _attend(self, values: Matrix, bounds: Sequence[tuple[int, int]]) -> Matrix:
        size = values.shape[1] // self.heads
        mixed = self.query_key_value(values).reshape(len(values), 3, self.heads, size)
        out: Matrix = np.empty_like(values)
        scale = np.float32(size**-0.5)
        for start, end in bounds:
            query, key, value = mixed[start:end].transpose(1, 2, 0, 3)
            weights = _softmax((query * scale) @ key.transpose(0, 2, 1))
            out[start:end] = (weights @ value).transpose(1, 0, 2).reshape(end - start, -1)
        return out


class Transformer(Struct, frozen=True):
    words: Matrix
    positions: Matrix  # with the embedding of the only token type
    embedded: LayerNorm
    layers: tuple[EncoderLayer, ...]
    takes_first: bool  # a text is what its first token says, not the mean of all

    @property
    def max_tokens(self) -> int:
        return len(self.positions)

    def __call__(self, texts: Sequence[Sequence[int]]) -> Matrix:
        """One row for each text, given as tokens; at most `max_tokens`, and at least one."""
        ends = np.cumsum([len(tokens) for tokens in texts]).tolist()
        bounds = list(zip([0, *ends], ends, strict=False))
        values: Matrix = self.words[np.concatenate([np.asarray(tokens) for tokens in texts])]
        for start, end in bounds:
            values[start:end] += self.positions[: end - start]
        values = self.embedded(values)
        for layer in self.layers:
            values = layer(values, bounds)
        if self.takes_first:
            return values[[start for start, _ in bounds]]
        return np.stack([values[start:end].mean(axis=0) for start, end in bounds])


def build_transformer(
    shape: TransformerShape, weights: Mapping[str, Any], *, takes_first: bool
) -> Transformer:
    """Put a transformer together. Raises `KeyError` or `ValueError` if weights are missing or do not fit."""
    if shape.hidden_act != "gelu":
        raise ValueError(f"the activation {shape.hidden_act} is not known here")
    prefix = next((one for one in ("", "bert.", "roberta.") if f"{one}{_WORDS}" in weights), "")

    def take(name: str) -> Matrix:
        return np.ascontiguousarray(weights[prefix + name], dtype=np.float32)

    def linear(*names: str) -> Linear:
        joined = np.concatenate([take(f"{name}.weight") for name in names])
        return Linear(
            np.ascontiguousarray(joined.T), np.concatenate([take(f"{name}.bias") for name in names])
        )

    def norm(name: str) -> LayerNorm:
        return LayerNorm(take(f"{name}.weight"), take(f"{name}.bias"), shape.layer_norm_eps)

    def layer(number: int) -> EncoderLayer:
        at = f"encoder.layer.{number}"
        inner = f"{at}.attention.self"
        return EncoderLayer(
            query_key_value=linear(f"{inner}.query", f"{inner}.key", f"{inner}.value"),
            attended=linear(f"{at}.attention.output.dense"),
            after_attention=norm(f"{at}.attention.output.LayerNorm"),
            wide=linear(f"{at}.intermediate.dense"),
            narrow=linear(f"{at}.output.dense"),
            after=norm(f"{at}.output.LayerNorm"),
            heads=shape.num_attention_heads,
        )

    positions = take("embeddings.position_embeddings.weight")[shape.first_position :]
    return Transformer(
        words=take(_WORDS),
        positions=positions + take("embeddings.token_type_embeddings.weight")[0],
        embedded=norm("embeddings.LayerNorm"),
        layers=tuple(layer(number) for number in range(shape.num_hidden_layers)),
        takes_first=takes_first,
    )


_WORDS: Final = "embeddings.word_embeddings.weight"


def _softmax(values: Matrix) -> Matrix:
    values -= values.max(axis=-1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(axis=-1, keepdims=True)
    return values


def _gelu(values: Matrix) -> Matrix:
    """x Φ(x), with the exact error function, as these models were trained."""
    scaled = values * np.float32(0.5**0.5)
    size = np.abs(scaled)
    t = 1 / (1 + _ERF_T * size)
    series: Matrix = _ERF[0] * t
    for coefficient in _ERF[1:]:
        series += coefficient
        series *= t
    series *= np.exp(-size * size)
    signed: Matrix = np.copysign(1 - series, scaled)
    signed += 1
    signed *= values
    signed *= np.float32(0.5)
    return signed
