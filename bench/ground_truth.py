"""Pages with what is true about them, in three public formats; or pages alone.

article-extraction-benchmark   ground-truth.json with `articleBody`, html/*.html.gz
trafilatura's evaldata         evaldata.json or evaldata.py with `with` and `without`, pages in folders below
Readability's tests            folders with source.html and expected.html
none of them                   any *.html or *.html.gz below the folder
"""

import ast
import gzip
import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from re import findall, sub
from typing import Any, Final
from unicodedata import normalize

from gossamer.web.html.charset import charset_of, decode
from gossamer.web.html.tree import parse

SHINGLE: Final = 4  # words
LOST: Final = 0.1  # of the wanted text; with less, the page is lost
_TOLD: Final = ("title", "author", "date")


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    url: str
    html: str
    body: str | None = None  # the whole text of the article
    included: tuple[str, ...] = ()  # passages that must be there
    excluded: tuple[str, ...] = ()  # and that must not
    told: Mapping[str, str] = field(default_factory=dict)  # its title, author and date, as far as is known


@dataclass(frozen=True, slots=True)
class Score:
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def load(folder: Path) -> list[Sample]:
    if (folder / "ground-truth.json").exists():
        return list(_articles(folder))
    for truth in sorted(folder.rglob("eval*data.json")) + sorted(folder.rglob("eval*data.py")):
        return list(_passages(truth, folder))
    if expected := sorted(folder.glob("*/expected.html")):
        return [_expected(page) for page in expected]
    pages = sorted([*folder.rglob("*.html"), *folder.rglob("*.html.gz")])
    return [Sample(page.name, f"https://bench.example/{page.name}", _html(page)) for page in pages]


def score(samples: Sequence[Sample], texts: Sequence[str]) -> Score | None:
    """As each public set scores itself; nothing where nothing is known."""
    if all(sample.body is not None for sample in samples):
        return by_shingles([(sample.body or "", text) for sample, text in zip(samples, texts, strict=True)])
    if any(sample.included for sample in samples):
        return _by_passages(samples, texts)
    return None


def count_lost(samples: Sequence[Sample], texts: Sequence[str]) -> int:
    """How many pages have next to nothing of what is wanted."""
    scores = (score([sample], [text]) for sample, text in zip(samples, texts, strict=True))
    return sum(found is not None and found.recall < LOST for found in scores)


def by_shingles(pairs: Sequence[tuple[str, str]]) -> Score:
    """Means over the pages of how much of the text found is true, and how much of the true text is found."""
    precisions, recalls = [], []
    for true, found in pairs:
        expected, given = _shingles(true), _shingles(found)
        common = sum((expected & given).values())
        if given:
            precisions.append(common / given.total())
        if expected:
            recalls.append(common / expected.total())
    return Score(statistics.mean(precisions or [0]), statistics.mean(recalls or [0]))


def _by_passages(samples: Sequence[Sample], texts: Sequence[str]) -> Score:
    right = wrong = missing = 0
    for sample, text in zip(samples, texts, strict=True):
        squeezed = _squeezed(text)
        for passage in sample.included:
            here = _squeezed(passage) in squeezed
            right, missing = right + here, missing + (not here)
        wrong += sum(_squeezed(passage) in squeezed for passage in sample.excluded)
    return Score(right / max(right + wrong, 1), right / max(right + missing, 1))


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = findall(r"\w+", text)
    return Counter(tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1)) if words)


def _squeezed(text: str) -> str:
    """On one line, and composed: some passages write accents as characters of their own."""
    return normalize("NFC", sub(r"\s+", " ", text).strip())


def _articles(folder: Path) -> Iterator[Sample]:
    for name, truth in json.loads((folder / "ground-truth.json").read_text()).items():
        html = _html(folder / "html" / f"{name}.html.gz")
        yield Sample(
            name, truth.get("url") or "https://bench.example/", html, body=truth.get("articleBody", "")
        )


def _passages(truth: Path, folder: Path) -> Iterator[Sample]:
    files = {page.name: page for page in folder.rglob("*.html*")}
    for url, entry in _entries(truth).items():
        page = files.get(entry["file"]) or files.get(f"{entry['file']}.gz")
        if page is not None:
            included, excluded = tuple(entry.get("with", ())), tuple(entry.get("without", ()))
            told = {name: _line(entry[name]) for name in _TOLD if entry.get(name)}
            yield Sample(entry["file"], url, _html(page), None, included, excluded, told)


def _line(told: str | list[str]) -> str:
    return told if isinstance(told, str) else "; ".join(told)


def _expected(page: Path) -> Sample:
    body = parse(_html(page)).body.plain()
    return Sample(
        page.parent.name, f"https://{page.parent.name}.example/", _html(page.with_name("source.html")), body
    )


def _entries(truth: Path) -> Mapping[str, Any]:
    """The pages of the set; from Python source only its literals are read, nothing is run."""
    if truth.suffix == ".json":
        found: Mapping[str, Any] = json.loads(truth.read_text())
        return found
    for statement in ast.parse(truth.read_text()).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict):
            pages: Mapping[str, Any] = ast.literal_eval(statement.value)
            return pages
    return {}


def _html(page: Path) -> str:
    content = gzip.decompress(page.read_bytes()) if page.suffix == ".gz" else page.read_bytes()
    return decode(content, charset_of(content, ""))
