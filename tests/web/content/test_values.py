"""Values that people read on pages without structured data: most are found, and hardly one is wrong."""

from bench.value_pages import FAMILIES
from bench.value_pages.case import ValueScore, judge

MIN_RIGHT, MAX_WRONG = 0.95, 0.01


def test_values_are_found_without_a_model_and_hardly_one_is_wrong() -> None:
    total, faults = ValueScore(), list[str]()
    for case in (case for cases in FAMILIES.values() for case in cases):
        score, lines = judge(case.truth, case.extract())
        total += score
        faults += [f"{case.name}{line}" for line in lines]
    assert total.total >= 300
    assert total.right >= MIN_RIGHT * total.total, faults
    assert total.wrong <= MAX_WRONG * total.total, faults
