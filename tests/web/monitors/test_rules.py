"""Rules: what counts as a change, and the reason for it."""

from collections.abc import Mapping
from typing import Any

import pytest

from gossamer.problems import Problem
from gossamer.web.monitors.page_snapshot import PageSnapshot
from gossamer.web.monitors.rules.amounts import amount_after, amount_in
from gossamer.web.monitors.rules.change_reason import ChangeReason, ReasonKind
from gossamer.web.monitors.rules.change_rule import (
    AppearanceRule,
    ChangeRule,
    FieldsRule,
    KeywordsRule,
    NumberRule,
    SelectorRule,
    StatusRule,
    TextRule,
    check_rules,
)
from gossamer.web.monitors.rules.comparing import SnapshotComparison
from gossamer.web.monitors.rules.field_changes import field_changes
from gossamer.web.outcome.outcome import Outcome


def page(
    text: str = "", *, parts: Mapping[str, str] | None = None, fields: Any = None, **other: Any
) -> PageSnapshot:
    known = {"url": "https://a.example/", "taken_at": 1.79e9, "outcome": Outcome.OK, "status": 200}
    found = {} if fields is None else {"0": fields}
    return PageSnapshot(**{**known, **other}, text=text, parts=parts or {}, fields=found)


def reasons(rule: ChangeRule, old: PageSnapshot, new: PageSnapshot) -> list[tuple[str, str, Any, Any]]:
    found = SnapshotComparison(old, new).judge((rule,)).reasons
    return [(reason.kind.value, reason.at, reason.old, reason.new) for reason in found]


def test_text_names_the_lines() -> None:
    found = reasons(TextRule(), page("one\ntwo"), page("one\n2\nthree"))
    assert found == [
        ("text_removed", "", "two", None),
        ("text_added", "", None, "2"),
        ("text_added", "", None, "three"),
    ]


def test_a_title_is_a_line() -> None:
    assert reasons(TextRule(), page("x", title="Old"), page("x", title="New")) == [
        ("text_changed", "", "Old", "New")
    ]


def test_only_added_or_removed_lines() -> None:
    old, new = page("one\ntwo\nthree"), page("one\nthree\nfour")
    assert reasons(TextRule(only="added"), old, new) == [("text_added", "", None, "four")]
    assert reasons(TextRule(only="removed"), old, new) == [("text_removed", "", "two", None)]


def test_fewer_words_than_asked_for_are_no_change() -> None:
    old, new = page("a b c d"), page("a b c e")
    assert reasons(TextRule(min_words=3), old, new) == []
    assert len(reasons(TextRule(min_words=2), old, new)) == 1


def test_a_selector_watches_its_part_alone() -> None:
    old, new = page("x", parts={".price": "£5"}), page("y", parts={".price": "£6"})
    assert reasons(SelectorRule(".price"), old, new) == [("text_changed", ".price", "£5", "£6")]
    assert reasons(SelectorRule(".price"), old, page("y", parts={".price": "£5"})) == []


def test_fields_are_compared_one_by_one() -> None:
    old = page(fields={"price": 5, "name": "A", "seen": 1, "tags": ["x", "y"]})
    new = page(fields={"price": 6.0, "name": "A ", "seen": 2, "tags": ["y", "x"]})
    rule = FieldsRule(fields=["price", "name", "seen", "tags"], ignore=("seen",))
    assert reasons(rule, old, new) == [("field_changed", "/price", 5, 6.0)]


def test_items_of_lists_are_added_and_removed() -> None:
    found = field_changes({"a": [{"n": 1}, {"n": 2}, {"n": 3}]}, {"a": [{"n": 3}, {"n": 1}]})
    assert [(change.kind.value, change.field, change.old) for change in found] == [
        ("removed", "/a/1", {"n": 2})
    ]


@pytest.mark.parametrize(
    ("rule", "old", "new", "kinds"),
    [
        (NumberRule(after="price", below=20), "price 21", "price 19", [ReasonKind.NUMBER_BELOW]),
        (NumberRule(after="price", below=20), "price 19", "price 18", []),
        (NumberRule(after="price", below=20), "price 20", "price 19", [ReasonKind.NUMBER_BELOW]),
        (NumberRule(after="price", above=20), "price 20", "price 21", [ReasonKind.NUMBER_ABOVE]),
        (NumberRule(after="price", changes_by_percent=5), "price 100", "price 104", []),
        (NumberRule(after="price", changes_by_percent=5), "price 9", "price 8", [ReasonKind.NUMBER_CHANGED]),
        (NumberRule(after="price", changes_by=10), "price 100", "price 91", []),
        (NumberRule(after="price"), "price 100", "price 100.5", [ReasonKind.NUMBER_CHANGED]),
        (NumberRule(after="price", below=20), "price 21", "sold out", []),
    ],
)  # fmt: skip
def test_limits_fire_when_they_are_crossed(
    rule: NumberRule, old: str, new: str, kinds: list[ReasonKind]
) -> None:
    assert [
        reason.kind for reason in SnapshotComparison(page(old), page(new)).judge((rule,)).reasons
    ] == kinds


@pytest.mark.parametrize(
    ("text", "language", "amount"),
    [
        ("£1,299.00", "en", 1299.0),
        ("1.299,00 €", "de", 1299.0),
        ("1.299 €", "en", 1299.0),
        ("€ 1.480 al mese", "it", 1480.0),
        ("8,800円(税込)", "ja", 8800.0),
        ("now only $19.99, was $25", "en", 19.99),
        ("32 zł miesięcznie", "pl", 32.0),
        ("3,5", "fr", 3.5),
        ("24", "", 24.0),
        ("no number", "", None),
        ("1 249,50 kr", "sv", 1249.5),
    ],
)
def test_amounts_in_any_notation(text: str, language: str, amount: float | None) -> None:
    assert amount_in(text, language) == amount


def test_an_amount_after_words() -> None:
    assert amount_after("Day: £12\nWeek: £38\nSeason: £95", "week") == 38.0
    assert amount_after("Places 24, fee £11,400", "fee") == 11_400.0
    assert amount_after("Places 24", "fee") is None


def test_keywords_appear_and_disappear_as_whole_words() -> None:
    rule = KeywordsRule(appear=("sold out", "sale"), disappear=("in stock",))
    old, new = page("In stock. Wholesale only."), page("Sold  OUT", rest="A sale")
    assert reasons(rule, old, new) == [
        ("keyword_appeared", "sold out", None, None),
        ("keyword_appeared", "sale", None, None),
        ("keyword_disappeared", "in stock", None, None),
    ]
    assert reasons(rule, new, new) == []


def test_status_and_outcome() -> None:
    old, new = page(), page(status=503, outcome=Outcome.ERROR)
    assert reasons(StatusRule(), old, new) == [
        ("status_changed", "", 200, 503),
        ("outcome_changed", "", "ok", "error"),
    ]
    gone = page(status=0, outcome=None, problem="FETCH_FAILED")
    assert ("outcome_changed", "", "ok", "FETCH_FAILED") in reasons(StatusRule(), old, gone)


def test_appearance_by_share_of_pixels() -> None:
    rule = (AppearanceRule(share=0.05),)
    assert not SnapshotComparison(page(), page(), differing_share=0.04).judge(rule).is_change
    assert SnapshotComparison(page(), page(), differing_share=0.06).judge(rule).reasons == (
        ChangeReason(kind=ReasonKind.APPEARANCE_CHANGED, rule=0, old=0.0, new=0.06),
    )


def test_any_rule_may_fire_and_says_which() -> None:
    rules = (KeywordsRule(appear=("x",)), NumberRule(after="fee"))
    found = SnapshotComparison(page("fee 1"), page("fee 2")).judge(rules)
    assert [(reason.rule, reason.kind) for reason in found.reasons] == [(1, ReasonKind.NUMBER_CHANGED)]


@pytest.mark.parametrize(
    "rule",
    [
        NumberRule(below=1),
        NumberRule(selector="a", after="b"),
        KeywordsRule(),
        FieldsRule(),
        FieldsRule(fields=["a"], schema={"type": "object"}),
    ],
)
def test_rules_that_say_nothing_are_refused(rule: ChangeRule) -> None:
    with pytest.raises(Problem):
        check_rules((rule,))
