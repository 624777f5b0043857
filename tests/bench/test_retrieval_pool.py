from bench.retrieval_pool import pool, read_judgements, take_verdicts
from bench.retrieval_questions import FURTHER, JUDGING, TUNING

ALL = (*TUNING, *FURTHER, *JUDGING)
FIRST = TUNING[0]


def found(*pages: str) -> dict[str, list[str]]:
    return {asked.question: list(pages) if asked is FIRST else [] for asked in ALL}


def test_the_pool_has_what_any_contender_finds_first_and_what_was_written_each_once() -> None:
    one = found("a", "b", "c", "d", "e", "too-deep")
    other = found("b", "z")
    assert sorted(pool([one, other], {})[FIRST]) == sorted({"a", "b", "c", "d", "e", "z", *FIRST.pages})


def test_the_order_of_the_pool_does_not_depend_on_who_found_what() -> None:
    pages = ("a", "b", "c", "d", "e")
    assert pool([found(*pages)], {})[FIRST] == pool([found(*reversed(pages))], {})[FIRST]


def test_what_was_judged_is_not_asked_again() -> None:
    judged = {FIRST.question: dict.fromkeys(("a", *FIRST.pages), True)}
    assert pool([found("a", "b")], judged)[FIRST] == ["b"]


def test_verdicts_are_added_to_those_that_are_known() -> None:
    marked = "The criterion.\n\n## how\n[x] a\n    what it says\n[ ] b\n"
    assert take_verdicts(marked, {"how": {"c": False}}) == {"how": {"a": True, "b": False, "c": False}}


def test_every_question_has_a_page_that_helps() -> None:
    judged = read_judgements()
    assert all(any(judged[asked.question].values()) for asked in ALL)
