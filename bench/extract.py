"""Main content and Markdown: time for a page, and F1 where the truth is given, beside trafilatura.

Every page goes through all contenders, one after the other and in turn, so that whatever else the machine
does meets them alike. Gossamer's time is that of everything it gives (Markdown, text, cleaned HTML, metadata
and links); trafilatura is asked for its text only.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any, Final

from bench.ground_truth import Sample, Score, by_shingles, load, score
from bench.table import Machine, save, table, this_machine
from gossamer.web.content.article import extract

WARM_UP: Final = 5  # pages


@dataclass(slots=True)
class Contender:
    name: str
    text_of: Callable[[Sample], str]
    texts: list[str] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    def run(self, sample: Sample) -> None:
        started = perf_counter()
        text = self.text_of(sample)
        self.milliseconds.append((perf_counter() - started) * 1000)
        self.texts.append(text)


def main() -> None:
    options = _options()
    samples = load(options.folder)
    if not samples:
        sys.exit(f"bench: there are no pages in {options.folder}")
    contenders = [Contender("Gossamer", _gossamer), *_trafilatura()]
    for sample in samples[:WARM_UP]:
        for contender in contenders:
            contender.text_of(sample)
    for at, sample in enumerate(samples):
        for contender in contenders[at % len(contenders) :] + contenders[: at % len(contenders)]:
            contender.run(sample)
        if at % 100 == 99:
            print(f"{at + 1} of {len(samples)} pages", file=sys.stderr, flush=True)
    machine = this_machine()
    text = report(machine, samples, contenders)
    print(text)
    save("extract", machine, text, document(samples, contenders))


def report(machine: Machine, samples: Sequence[Sample], contenders: Sequence[Contender]) -> str:
    first = contenders[0]
    rows = [
        [
            contender.name,
            f"{mean(contender.milliseconds):.1f}",
            f"{median(contender.milliseconds):.1f}",
            f"{mean(contender.milliseconds) / mean(first.milliseconds):.2f}",
            *_cells(score(samples, contender.texts)),
            f"{_agreement(first, contender):.3f}",
        ]
        for contender in contenders
    ]
    columns = ["content", "mean ms", "median ms", "time / ours", "precision", "recall", "F1", "like ours"]
    size = mean(len(sample.html) for sample in samples) / 1000
    return f"# Extract\n\n{machine}; {len(samples)} pages of {size:.0f} KB\n\n{table(columns, rows)}\n"


def document(samples: Sequence[Sample], contenders: Sequence[Contender]) -> dict[str, Any]:
    rows = []
    for contender in contenders:
        found = score(samples, contender.texts)
        rows.append(
            {
                "name": contender.name,
                "mean_ms": round(mean(contender.milliseconds), 3),
                "median_ms": round(median(contender.milliseconds), 3),
                "precision": found and round(found.precision, 4),
                "recall": found and round(found.recall, 4),
                "f1": found and round(found.f1, 4),
            }
        )
    return {"pages": len(samples), "rows": rows}


def _cells(found: Score | None) -> list[str]:
    return [f"{number:.3f}" for number in (found.precision, found.recall, found.f1)] if found else ["–"] * 3  # noqa: RUF001


def _agreement(one: Contender, other: Contender) -> float:
    return by_shingles(list(zip(one.texts, other.texts, strict=True))).f1


def _gossamer(sample: Sample) -> str:
    return extract(sample.html, sample.url).text


def _trafilatura() -> list[Contender]:
    try:
        import trafilatura
    except ImportError:
        print("bench: trafilatura is not installed, so there is nothing to compare with", file=sys.stderr)
        return []

    def ask(sample: Sample, *, fast: bool) -> str:
        return trafilatura.extract(sample.html, fast=fast, include_comments=False) or ""

    return [
        Contender("trafilatura, fast", lambda sample: ask(sample, fast=True)),
        Contender("trafilatura", lambda sample: ask(sample, fast=False)),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench extract", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, help="pages, with or without ground truth in a public format")
    return parser.parse_args()


if __name__ == "__main__":
    main()
