"""Pages that are no articles: what is kept of them, and what stands beside it, beside other extractors.

The pages are those of the suite: eighteen kinds of content, each in six layouts, with passages that belong to
the content and passages that do not.
"""

from dataclasses import dataclass
from typing import Any, Final

from tests.web.content.page_kinds import KnownPage, known_pages

from bench.extract import Contender, own_contender, peers
from bench.ground_truth import Sample
from bench.table import save, table, this_machine

COLUMNS: Final = ("content", "kept of what belongs to it", "kept of what does not", "pages without a loss")


@dataclass(slots=True)
class Tally:
    wanted: int = 0
    kept: int = 0
    unwanted: int = 0
    surplus: int = 0
    whole: int = 0  # pages of which everything was kept

    def add(self, page: KnownPage, text: str) -> None:
        said = " ".join(text.split())
        found = sum(passage in said for passage in page.wanted)
        self.wanted += len(page.wanted)
        self.kept += found
        self.whole += found == len(page.wanted)
        self.unwanted += len(page.unwanted)
        self.surplus += sum(passage in said for passage in page.unwanted)


def main() -> None:
    pages = list(known_pages())
    judged = {one.name: _judge(one, pages) for one in (own_contender(), *peers())}
    tallies = {name: tally for name, tally in judged.items() if tally.kept}  # one peer gives dates alone
    machine = this_machine()
    rows = [[name, *_row(tally, len(pages))] for name, tally in tallies.items()]
    text = f"# Pages that are no articles\n\n{machine}; {len(pages)} pages\n\n{table(COLUMNS, rows)}\n"
    print(text)
    save("kinds", machine, text, _document(tallies, len(pages)))


def _judge(contender: Contender, pages: list[KnownPage]) -> Tally:
    tally = Tally()
    for page in pages:
        found = contender.extract(Sample(page.name, "https://bench.example/page", page.html))
        tally.add(page, f"{(found.told or {}).get('title', '')} {found.text}")
    return tally


def _row(tally: Tally, pages: int) -> list[str]:
    return [
        f"{tally.kept / tally.wanted:.1%}",
        f"{tally.surplus / tally.unwanted:.1%}",
        f"{tally.whole} of {pages}",
    ]


def _document(tallies: dict[str, Tally], pages: int) -> dict[str, Any]:
    rows = {
        name: {"kept": tally.kept / tally.wanted, "surplus": tally.surplus / tally.unwanted}
        for name, tally in tallies.items()
    }
    return {"pages": pages, "rows": rows}


if __name__ == "__main__":
    main()
