"""The pool of `retrieval`: what all contenders find first, to be judged by somebody who does not see which of
them found it, nor at which place.

`scripts/bench retrieval --pool FILE` writes the pages that nobody has judged yet. Put an x between the
brackets of each page that helps, and `scripts/bench retrieval_pool FILE` adds that to the judgements.
"""

import json
import random
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.retrieval_questions import FURTHER, JUDGING, TUNING, Asked
from gossamer.state.search.search_document import IndexedDocument
from gossamer.web.search.hits import HitFinder, best_passages
from gossamer.web.search.passages import lead_of
from gossamer.web.search.question import Question
from gossamer.web.search.terms import terms_of
from gossamer.web.search.words import clean

JUDGEMENTS: Final = Path(__file__).parent / "retrieval_judgements.json"
CRITERION: Final = (
    "Somebody with this question would be helped by this page: it says how, or names the command, function "
    "or setting that does it, with its description."
)
DEPTH: Final = 5  # of each contender's first pages, those that are judged
SEED: Final = 20261118
LEAD_CHARS: Final = 200
_QUESTION: Final = re.compile(r"## (.+)")
_PAGE: Final = re.compile(r"\[(.)\] (\S+)")

Judged = dict[str, dict[str, bool]]  # whether a page helps, by question and page


def read_judgements() -> Judged:
    kept = json.loads(JUDGEMENTS.read_text())["questions"] if JUDGEMENTS.exists() else {}
    return {
        question: {page: verdict == "helps" for verdict in ("helps", "does not") for page in pages[verdict]}
        for question, pages in kept.items()
    }


def pool(found: Sequence[Mapping[str, Sequence[str]]], judged: Judged) -> dict[Asked, list[str]]:
    """The pages to judge, by question, in an order that tells nothing. `found` has what each contender found;
    pages that were written with a question are judged with the others."""
    shuffled = random.Random(SEED)
    pages: dict[Asked, list[str]] = {}
    for asked in (*TUNING, *FURTHER, *JUDGING):
        first = {page for one in found for page in one[asked.question][:DEPTH]}
        waiting = sorted({*first, *asked.pages} - judged.get(asked.question, {}).keys())
        shuffled.shuffle(waiting)
        pages[asked] = waiting
    return pages


def write_pool(pages: Mapping[Asked, Collection[str]], documents: Mapping[str, IndexedDocument]) -> str:
    """The pool as a text for the judge: each page with its first words, and the passages on the question."""
    lines = [CRITERION]
    for asked, waiting in pages.items():
        if waiting:
            lines += ["", f"## {asked.question}"]
        for page in waiting:
            lines += [f"[ ] {page}", *(f"    {line}" for line in _summary(asked.question, documents[page]))]
    return "\n".join(lines) + "\n"


def _summary(question: str, document: IndexedDocument) -> list[str]:
    terms = terms_of(Question.parse(question), ("en",), lambda words: 1.0)
    hits = HitFinder(terms).find(document.text, "en")
    passages = best_passages("", document.text, document.headings, hits, terms)
    lead = clean(lead_of(document.text, document.headings, LEAD_CHARS), LEAD_CHARS)
    return [
        f"{document.title}: {lead}",
        *(f"{' / '.join(one.headings[1:])}: {one.snippet}" for one in passages),
    ]


def take_verdicts(text: str, judged: Judged) -> Judged:
    """Judgements, with those of a text that the judge has marked."""
    taken = {question: dict(pages) for question, pages in judged.items()}
    question = ""
    for line in text.splitlines():
        if named := _QUESTION.fullmatch(line):
            question = named[1]
        elif marked := _PAGE.match(line):
            taken.setdefault(question, {})[marked[2]] = marked[1] == "x"
    return taken


def write_judgements(judged: Judged) -> None:
    questions = {
        question: {
            "helps": sorted(page for page, helps in pages.items() if helps),
            "does not": sorted(page for page, helps in pages.items() if not helps),
        }
        for question, pages in judged.items()
    }
    whole = {"criterion": CRITERION, "depth": DEPTH, "seed": SEED, "questions": questions}
    JUDGEMENTS.write_text(json.dumps(whole, indent=1) + "\n")


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    write_judgements(take_verdicts(Path(sys.argv[1]).read_text(), read_judgements()))


if __name__ == "__main__":
    main()
