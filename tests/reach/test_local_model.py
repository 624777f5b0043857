"""Models that run here: a transformer and a static one, on small weights that are made here."""

import asyncio
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from gossamer.reach.models.local_model import MAX_TOKENS, LocalModel
from gossamer.reach.models.model_files import UnusableModel, find_model
from gossamer.reach.services.embeddings import EmbeddingFailed, EmbeddingRefused

WORDS = ("[UNK]", "[CLS]", "[SEP]", "rope", "silk", "engine")
SIZE, HEADS, WIDE, LAYERS = 8, 2, 12, 2
CONFIG = {"model_type": "bert", "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}


def write_model(folder: Path, config: Mapping[str, Any], weights: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(config))
    save_file(dict(weights), folder / "model.safetensors")
    return folder


def transformer_weights(prefix: str = "", positions: int = 160) -> dict[str, Any]:
    random = np.random.default_rng(7)

    def some(*shape: int) -> Any:
        return random.normal(0, 0.5, shape).astype(np.float32)

    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), SIZE),
        "embeddings.position_embeddings.weight": (positions, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
    }
    linears: dict[str, tuple[int, int]] = {}
    for number in range(LAYERS):
        at = f"encoder.layer.{number}"
        linears |= {f"{at}.attention.self.{name}": (SIZE, SIZE) for name in ("query", "key", "value")}
        linears[f"{at}.attention.output.dense"] = (SIZE, SIZE)
        linears[f"{at}.intermediate.dense"] = (WIDE, SIZE)
        linears[f"{at}.output.dense"] = (SIZE, WIDE)
        for norm in (f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"):
            shapes |= {f"{norm}.weight": (SIZE,), f"{norm}.bias": (SIZE,)}
    shapes |= {"embeddings.LayerNorm.weight": (SIZE,), "embeddings.LayerNorm.bias": (SIZE,)}
    for name, (rows, columns) in linears.items():
        shapes |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
    return {prefix + name: some(*shape) for name, shape in shapes.items()}


def by_hand(weights: Mapping[str, Any], tokens: list[int], *, first: bool = False) -> Any:
    """The same encoder, one text and one head at a time, as papers write it."""

    def linear(values: Any, name: str) -> Any:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(values: Any, name: str) -> Any:
        centred = values - values.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def gelu(values: Any) -> Any:
        return values * 0.5 * (1 + np.vectorize(math.erf)(values / math.sqrt(2)))

    values = (
        weights["embeddings.word_embeddings.weight"][tokens]
        + weights["embeddings.position_embeddings.weight"][: len(tokens)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    values = norm(values, "embeddings.LayerNorm")
    part = SIZE // HEADS
    for number in range(LAYERS):
        at = f"encoder.layer.{number}"
        query, key, value = (
            linear(values, f"{at}.attention.self.{one}") for one in ("query", "key", "value")
        )
        heads = []
        for head in range(HEADS):
            cut = slice(head * part, (head + 1) * part)
            scores = np.exp(query[:, cut] @ key[:, cut].T / math.sqrt(part))
            heads.append(scores / scores.sum(-1, keepdims=True) @ value[:, cut])
        attended = linear(np.concatenate(heads, axis=1), f"{at}.attention.output.dense")
        values = norm(values + attended, f"{at}.attention.output.LayerNorm")
        wide = linear(gelu(linear(values, f"{at}.intermediate.dense")), f"{at}.output.dense")
        values = norm(values + wide, f"{at}.output.LayerNorm")
    found = values[0] if first else values.mean(0)
    return found / np.linalg.norm(found)


async def embed(folder: Path, *texts: str) -> list[tuple[float, ...]]:
    model = LocalModel(find_model(f"local:{folder}"))
    try:
        return await model.embed(texts)
    finally:
        await model.close()


async def test_a_transformer_says_what_the_formulas_say(tmp_path: Path) -> None:
    weights = transformer_weights()
    folder = write_model(tmp_path / "model", CONFIG, weights)
    found = await embed(folder, "silk rope", "engine", "rope rope silk engine")
    for vector, tokens in zip(found, ([1, 4, 3, 2], [1, 5, 2], [1, 3, 3, 4, 5, 2]), strict=True):
        assert np.allclose(vector, by_hand(weights, tokens), atol=1e-5)


async def test_a_model_may_take_its_first_token_and_a_prefix(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", CONFIG, transformer_weights("bert."))
    (folder / "1_Pooling").mkdir()
    pooling = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (vector,) = await embed(folder, "silk")
    assert np.allclose(vector, by_hand(transformer_weights(), [1, 4, 2], first=True), atol=1e-5)


async def test_roberta_counts_positions_from_the_one_after_padding(tmp_path: Path) -> None:
    weights = transformer_weights()
    config = {**CONFIG, "model_type": "xlm-roberta", "pad_token_id": 1}
    (vector,) = await embed(write_model(tmp_path / "model", config, weights), "silk")
    moved = {**weights}
    name = "embeddings.position_embeddings.weight"
    moved[name] = weights[name][2:]
    assert np.allclose(vector, by_hand(moved, [1, 4, 2]), atol=1e-5)


async def test_a_static_model_is_the_mean_of_its_words(tmp_path: Path) -> None:
    vectors = np.eye(len(WORDS), dtype=np.float32)
    folder = write_model(tmp_path / "model", {"model_type": "model2vec"}, {"embeddings": vectors})
    (vector,) = await embed(folder, "silk rope")
    assert vector == pytest.approx([0, 0, 0, math.sqrt(0.5), math.sqrt(0.5), 0])
    with pytest.raises(EmbeddingRefused):
        await embed(folder, "")


async def test_long_texts_are_cut_and_many_are_taken(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", CONFIG, transformer_weights())
    long, cut = await embed(folder, "rope " * 5_000, "rope " * (MAX_TOKENS - 2))
    assert np.allclose(long, cut, atol=1e-6)
    found = await embed(folder, *["silk rope"] * 32, "engine")
    assert np.allclose(found[0], found[31], atol=1e-6)
    assert len(found) == 33


async def test_a_question_waits_for_a_turn_and_not_for_a_batch(tmp_path: Path) -> None:
    model = LocalModel(find_model(f"local:{write_model(tmp_path / 'model', CONFIG, transformer_weights())}"))
    await model.embed(["rope"])
    done: list[str] = []

    async def run(name: str, texts: list[str]) -> None:
        await model.embed(texts)
        done.append(name)

    batch = asyncio.create_task(run("batch", ["rope " * MAX_TOKENS] * 64))
    await asyncio.sleep(0)
    await run("question", ["silk"])
    await batch
    assert done == ["question", "batch"]
    await model.close()


async def test_the_name_follows_the_weights_and_not_the_folder(tmp_path: Path) -> None:
    names = []
    for name, weights in (("a", transformer_weights()), ("b", transformer_weights()), ("c", None)):
        changed = {"embeddings": np.eye(len(WORDS), dtype=np.float32)}
        config = CONFIG if weights else {"model_type": "model2vec"}
        model = LocalModel(find_model(f"local:{write_model(tmp_path / name, config, weights or changed)}"))
        await model.embed(["rope"])
        names.append(model.name)
        await model.close()
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    ("config", "missing"),
    [
        ({**CONFIG, "model_type": "t5"}, ""),
        ({**CONFIG, "hidden_act": "relu"}, ""),
        (CONFIG, "encoder.layer.1.output.dense.bias"),
    ],
)
async def test_a_model_that_is_not_known_fails_and_says_so(
    tmp_path: Path, config: dict[str, Any], missing: str
) -> None:
    weights = transformer_weights()
    weights.pop(missing, None)
    with pytest.raises(EmbeddingFailed, match="cannot be used"):
        await embed(write_model(tmp_path / "model", config, weights), "rope")


async def test_broken_weights_fail_and_say_so(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", CONFIG, transformer_weights())
    (folder / "model.safetensors").write_bytes(b"nothing of this kind")
    with pytest.raises(EmbeddingFailed, match="cannot be used"):
        await embed(folder, "rope")


def test_a_model_is_found_in_a_package_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "small_model_package"
    write_model(package / "data" / "model", CONFIG, transformer_weights())
    (package / "__init__.py").write_text("raise ImportError('it needs torch')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_model("local:small_model_package").config == package / "data" / "model" / "config.json"


@pytest.mark.parametrize("place", ["/nowhere", "no_such_package", "json"])
def test_what_is_no_model_is_refused_at_the_start(place: str) -> None:
    with pytest.raises(UnusableModel):
        find_model(f"local:{place}")


def test_a_model_with_a_layer_that_is_not_known_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", CONFIG, transformer_weights())
    modules = [{"type": "sentence_transformers.models.Transformer"}, {"type": "a.b.Dense"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UnusableModel, match="Dense"):
        find_model(f"local:{folder}")
