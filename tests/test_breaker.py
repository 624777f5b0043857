"""Who keeps failing is left alone for a while."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.concurrency.breaker import Breaker


def opened(at: float = 0.0) -> Breaker:
    breaker = Breaker(failures=5, seconds=60, successes=2)
    for _ in range(5):
        assert breaker.allows(at)
        breaker.record_failure(at)
    return breaker


def test_so_many_failures_in_a_row_open_it() -> None:
    breaker = Breaker(failures=5, seconds=60, successes=2)
    for _ in range(4):
        breaker.record_failure(0)
    breaker.record_success(0)
    for _ in range(4):
        breaker.record_failure(0)
    assert breaker.state(0) == "closed"
    breaker.record_failure(0)
    assert breaker.state(0) == "open"
    assert not breaker.allows(59.9)


def test_after_a_while_one_at_a_time_is_let_through() -> None:
    breaker = opened()
    assert breaker.state(60) == "half-open"
    assert [breaker.allows(60) for _ in range(3)] == [True, False, False]
    breaker.record_success(61)
    assert breaker.state(61) == "half-open"
    assert [breaker.allows(61) for _ in range(2)] == [True, False]
    breaker.record_success(62)
    assert breaker.state(62) == "closed"
    assert all(breaker.allows(62) for _ in range(3))


def test_a_failure_while_half_open_opens_it_again() -> None:
    breaker = opened()
    assert breaker.allows(60)
    breaker.record_success(60)
    assert breaker.allows(61)
    breaker.record_failure(61)
    assert not breaker.allows(120.9)
    assert breaker.allows(121)
    breaker.record_success(121)
    assert breaker.state(121) == "half-open"  # what succeeded before does not count any more


def test_a_request_that_was_given_up_makes_way_for_the_next() -> None:
    breaker = opened()
    assert breaker.allows(60)
    breaker.record_unknown()
    assert breaker.allows(60)


def test_those_who_were_under_way_when_it_opened_do_not_prolong_it() -> None:
    breaker = opened(0)
    breaker.record_failure(30)
    breaker.record_success(31)
    assert breaker.state(59) == "open"
    assert breaker.state(60) == "half-open"


@given(st.lists(st.tuples(st.sampled_from(["ask", "good", "bad", "never"]), st.floats(0, 100))))
def test_whatever_happens_it_is_tried_again(steps: list[tuple[str, float]]) -> None:
    breaker, now = Breaker(), 0.0
    for step, seconds in steps:
        now += seconds
        if step == "ask" and breaker.allows(now):
            continue
        {"good": breaker.record_success, "bad": breaker.record_failure}.get(
            step, lambda _: breaker.record_unknown()
        )(now)
    breaker.record_unknown()
    assert breaker.allows(now + 60)
