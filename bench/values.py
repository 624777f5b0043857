"""Values: how many of those that a person reads on a page are found without a model, and how many are wrong.

The pages have no structured data: shops, lists, questions, contacts, facts beside labels in many languages.
"""

import argparse
import time
from typing import Any, Final

from bench.table import save, table, this_machine
from bench.value_pages import FAMILIES
from bench.value_pages.case import ValueCase, ValueScore, judge

COLUMNS: Final = ("pages", "values", "right", "wrong", "missing", "ms a page")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench values", description=__doc__)
    parser.add_argument("--faults", action="store_true", help="print every value that is not right")
    given = parser.parse_args()
    rows, total, spent = [], ValueScore(), 0.0
    for name, cases in FAMILIES.items():
        began = time.process_time()
        scored = [judge(case.truth, case.extract()) for case in cases]
        seconds = time.process_time() - began
        score = sum((one for one, _ in scored), ValueScore())
        rows.append(_row(name, score, seconds / len(cases)))
        total, spent = total + score, spent + seconds
        if given.faults:
            _print_faults(cases, [faults for _, faults in scored])
    rows.append(_row("all", total, spent / sum(map(len, FAMILIES.values()))))
    machine = this_machine()
    text = f"# Values without a model\n\n{machine}\n\n{table(COLUMNS, rows)}"
    print(text)
    save("values", machine, text, _document(total))


def _row(name: str, score: ValueScore, seconds: float) -> list[str]:
    shares = [f"{part / score.total:.1%}" for part in (score.right, score.wrong, score.missing)]
    return [name, str(score.total), *shares, f"{seconds * 1000:.1f}"]


def _print_faults(cases: tuple[ValueCase, ...], faults: list[list[str]]) -> None:
    for case, lines in zip(cases, faults, strict=True):
        for line in lines:
            print(f"{case.name}{line}")


def _document(total: ValueScore) -> dict[str, Any]:
    return {"values": total.total, "right": total.right, "wrong": total.wrong, "missing": total.missing}


if __name__ == "__main__":
    main()
