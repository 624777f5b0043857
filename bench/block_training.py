"""Trains the block model of the main content on pages with ground truth, and writes its weights.

It is a logistic regression, fitted by accelerated gradient descent in plain Python. Every page weighs the
same, and a block by the root of its length. Pages of one host are in one fold, so that a model is never
judged by pages of a site that it has seen.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from math import exp, sqrt
from operator import mul
from pathlib import Path
from re import sub
from typing import Final

from bench.ground_truth import Sample, load
from gossamer.web.content.article import host_of
from gossamer.web.content.main.features import FEATURES, ContentHints
from gossamer.web.content.main.find import PageStudy, study
from gossamer.web.content.main.model import BlockModel
from gossamer.web.content.main.structured import article_body
from gossamer.web.html.links import Addresses
from gossamer.web.html.metadata import Metadata
from gossamer.web.html.metadata_reader import METADATA_SELECTOR, metadata_of
from gossamer.web.html.tree import Tree, parse

FOLDS: Final = 5
WEIGHTS: Final = Path("src/gossamer/web/content/main/weights.txt")
_RIDGE: Final = 1.0  # against a page, which weighs 1
_ROUNDS: Final = 250
_MIN_CHARS: Final = 4  # of a block that can be recognised
_MIN_PART_CHARS: Final = 30  # of a block that is a part of a passage
_PROBE: Final = 100  # letters of a long block, which are looked up at its begin, middle and end


@dataclass(frozen=True, slots=True)
class TrainingPage:
    fold: int
    rows: list[list[float]]
    labels: list[bool]
    weights: list[float]  # of the blocks; 1 together


def main() -> None:
    options = _options()
    pages = [page for folder in options.folder for page in training_pages(load(folder))]
    if not pages:
        sys.exit("train: there are no pages with ground truth")
    blocks = sum(len(page.rows) for page in pages)
    print(f"{len(pages)} pages, {blocks} blocks", file=sys.stderr, flush=True)
    weights = fit(pages)
    lines = [f"{name} {weight:.4f}" for name, weight in weights.items()]
    WEIGHTS.write_text(
        "\n".join(["# The block model. Written by `python -m bench.block_training`.", *lines, ""])
    )


def cross_validated(pages: Sequence[TrainingPage]) -> list[BlockModel]:
    """Return a model for each fold, fitted to the others."""
    return [BlockModel.of(fit([page for page in pages if page.fold != fold])) for fold in range(FOLDS)]


def fold_of(sample: Sample) -> int:
    host = host_of(sample.url) or sample.name
    site = ".".join(host.split(".")[-2:])
    return int(sha1(site.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


# Labels.


def training_pages(samples: Sequence[Sample]) -> list[TrainingPage]:
    found = [_training_page(sample) for sample in samples]
    return [page for page in found if page.rows]


def read_head(tree: Tree, url: str) -> Metadata:
    return metadata_of(tree, tree.source.css(METADATA_SELECTOR), Addresses(url), host_of(url))


def _training_page(sample: Sample) -> TrainingPage:
    tree = parse(sample.html)
    metadata = read_head(tree, sample.url)
    facts = ContentHints(metadata.description or "", article_body(metadata.json_ld))
    studied = study(tree, metadata.title, facts)
    rows, labels, weights = [], [], []
    judged = zip(studied.rows, studied.page.blocks, _labels(studied, sample), strict=True)
    for row, block, label in judged:
        if row is not None and label is not None:
            rows.append(row)
            labels.append(label)
            weights.append(sqrt(block.size))
    total = sum(weights) or 1.0
    return TrainingPage(fold_of(sample), rows, labels, [weight / total for weight in weights])


def _labels(studied: PageStudy, sample: Sample) -> list[bool | None]:
    texts = [block.text for block in studied.page.blocks]
    if sample.body is not None:
        body = _letters(sample.body)
        return [_is_in(_letters(text), body) for text in texts]
    wanted = [_spaced(passage) for passage in sample.included]
    unwanted = [_spaced(passage) for passage in sample.excluded]
    return [_by_passages(_spaced(text), wanted, unwanted) for text in texts]


def _by_passages(text: str, wanted: list[str], unwanted: list[str]) -> bool | None:
    if len(text) < _MIN_CHARS:
        return None
    for passages, label in ((wanted, True), (unwanted, False)):
        if any(one in text or (len(text) > _MIN_PART_CHARS and text in one) for one in passages):
            return label
    return None


def _is_in(text: str, body: str) -> bool | None:
    if not text:
        return None
    if len(text) < 4 * _PROBE:
        return text in body
    middle = len(text) // 2
    probes = text[:_PROBE], text[middle : middle + _PROBE], text[-_PROBE:]
    return sum(probe in body for probe in probes) >= 2


def _letters(text: str) -> str:
    return sub(r"\W+", "", text).lower()


def _spaced(text: str) -> str:
    return sub(r"\s+", " ", text).strip()


# Fitting.


def fit(pages: Sequence[TrainingPage]) -> dict[str, float]:
    """Return the weights of the features as they are, and the bias."""
    rows = [row for page in pages for row in page.rows]
    labels = [label for page in pages for label in page.labels]
    weights = [weight for page in pages for weight in page.weights]
    columns = list(zip(*rows, strict=True))
    total = sum(weights)
    means = [_dot(column, weights) / total for column in columns]
    spreads = [
        sqrt(_dot([(value - mean) ** 2 for value in column], weights) / total) + 1e-6
        for column, mean in zip(columns, means, strict=True)
    ]
    standard = [
        [(value - mean) / spread for value in column]
        for column, mean, spread in zip(columns, means, spreads, strict=True)
    ]
    found = _descend([*standard, [1.0] * len(rows)], labels, weights)
    raw = [weight / spread for weight, spread in zip(found, spreads, strict=False)]
    return {**dict(zip(FEATURES, raw, strict=True)), "bias": found[-1] - _dot(raw, means)}


def _descend(columns: list[list[float]], labels: list[bool], weights: list[float]) -> list[float]:
    """Nesterov's accelerated descent; the last column is the bias, which is not held back."""
    rows = list(zip(*columns, strict=True))
    ridge = [_RIDGE] * (len(columns) - 1) + [0.0]
    step = 1 / (_largest_curvature(columns, rows, weights) / 4 + _RIDGE)
    at = ahead = [0.0] * len(columns)
    pace = 1.0
    for _ in range(_ROUNDS):
        chances = (1 / (1 + exp(-max(-30.0, min(_dot(ahead, row), 30.0)))) for row in rows)
        errors = [
            (chance - label) * weight for chance, label, weight in zip(chances, labels, weights, strict=True)
        ]
        slopes = [_dot(column, errors) for column in columns]
        new = [
            value - step * (slope + held * value)
            for value, slope, held in zip(ahead, slopes, ridge, strict=True)
        ]
        faster = (1 + sqrt(1 + 4 * pace * pace)) / 2
        push = (pace - 1) / faster
        ahead = [now + push * (now - before) for now, before in zip(new, at, strict=True)]
        at, pace = new, faster
    return at


def _largest_curvature(
    columns: list[list[float]], rows: list[tuple[float, ...]], weights: list[float]
) -> float:
    """The largest eigenvalue of the weighted squares, by repeated multiplication."""
    vector, size = [1.0] * len(columns), 1.0
    for _ in range(20):
        spread = [_dot(vector, row) * weight for row, weight in zip(rows, weights, strict=True)]
        vector = [_dot(column, spread) for column in columns]
        size = sqrt(_dot(vector, vector))
        vector = [value / size for value in vector]
    return size


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(mul, one, other), 0.0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="+", help="pages with ground truth in a public format")
    return parser.parse_args()


if __name__ == "__main__":
    main()
