"""An embedding model that runs in this process, on weights that the operator has.

One thread does all of it, in short turns, so that a question waits for one turn of the indexer and not for
its whole batch. Weights are read when the first text comes. Products of matrices use as many threads as the
operator allows.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer

from gossamer.reach.models.model_files import LOCAL, ModelFiles
from gossamer.reach.models.static_model import StaticModel, build_static
from gossamer.reach.models.transformer import TransformerShape, build_transformer
from gossamer.reach.services.embeddings import EmbeddingFailed, EmbeddingRefused
from gossamer.web.search.vectors import Vector

MAX_TOKENS: Final = (
    128  # of a text: what stands first says what it is about; twice as many cost twice as much
)
TOKENS_PER_TURN: Final = 256
SECONDS: Final = 120.0  # for one batch
TRANSFORMERS: Final = ("bert", "roberta", "xlm-roberta")
STATIC: Final = "model2vec"

_Result = TypeVar("_Result")


class TextEncoder(Protocol):
    """What makes one vector of the tokens of each text."""

    @property
    def max_tokens(self) -> int: ...

    def __call__(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]: ...


class _ModelKind(msgspec.Struct):
    model_type: str


class LocalModel:
    def __init__(self, files: ModelFiles, *, threads: int = 1, seconds: float = SECONDS) -> None:
        self.name = LOCAL.rstrip(":")  # with the digest of the weights, as soon as they are read
        self._files = files
        self._threads = threads
        self._seconds = seconds
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="local-model")
        self._loaded: _LoadedModel | None = None

    async def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector]:
        """One vector for each text. Raises only `EmbeddingFailed`."""
        try:
            async with asyncio.timeout(self._seconds if seconds is None else seconds):
                model = self._loaded
                if model is None:
                    model = await self._turn(self._load)
                tokens = await self._turn(model.tokenize, texts)
                vectors: list[Vector] = []
                for some in _turns(tokens):
                    vectors += await self._turn(model.embed, some)
                return vectors
        except TimeoutError:
            raise EmbeddingFailed("it is too busy") from None

    async def close(self) -> None:
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)
        if self._loaded is not None:
            self._loaded.limits.restore_original_limits()

    async def _turn(self, work: Callable[..., _Result], *arguments: object) -> _Result:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, work, *arguments)
        except RuntimeError as closed:
            raise EmbeddingFailed(str(closed)) from None

    def _load(self) -> "_LoadedModel":
        if self._loaded is None:
            try:
                self._loaded = _LoadedModel(self._files, self._threads)
            except (OSError, KeyError, ValueError, SafetensorError, msgspec.DecodeError) as error:
                raise EmbeddingFailed(f"{self._files.weights} cannot be used: {error!r:.200}") from None
            self.name = f"{LOCAL}{self._loaded.digest}"
        return self._loaded


class _LoadedModel:
    def __init__(self, files: ModelFiles, threads: int) -> None:
        config, packed = files.config.read_bytes(), files.weights.read_bytes()
        self.digest = hashlib.sha256(packed + config).hexdigest()[:16]
        self._encode = _build(config, load(packed), takes_first=files.takes_first)
        self._tokenizer: Any = _read_tokenizer(files)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(min(MAX_TOKENS, self._encode.max_tokens))
        self.limits = threadpool_limits(threads, user_api="blas")

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """One by one: a batch would use a thread for each core."""
        has_marks = not isinstance(self._encode, StaticModel)  # at both ends of a text
        tokens = [self._tokenizer.encode(text, add_special_tokens=has_marks).ids for text in texts]
        if not all(tokens):
            raise EmbeddingRefused("a text has no word that it knows")
        return tokens

    def embed(self, tokens: Sequence[Sequence[int]]) -> list[Vector]:
        found = self._encode(tokens)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbeddingRefused("a vector has no direction")
        return [tuple(row) for row in (found / lengths).tolist()]


def _build(config: bytes, weights: Any, *, takes_first: bool) -> TextEncoder:
    kind = msgspec.json.decode(config, type=_ModelKind).model_type
    if kind == STATIC:
        return build_static(weights)
    if kind not in TRANSFORMERS:
        raise ValueError(f"a model of the type {kind} is not known here")
    shape = msgspec.json.decode(config, type=TransformerShape)
    return build_transformer(shape, weights, takes_first=takes_first)


def _read_tokenizer(files: ModelFiles) -> Any:
    try:
        return Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # noqa: BLE001 - it raises nothing more specific
        raise ValueError(f"{files.tokenizer}: {error}") from None


def _turns(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Cut a batch into parts of at most `TOKENS_PER_TURN`, but of one text at least."""
    part: list[Sequence[int]] = []
    for tokens in texts:
        if part and sum(map(len, part)) + len(tokens) > TOKENS_PER_TURN:
            yield part
            part = []
        part.append(tokens)
    if part:
        yield part
