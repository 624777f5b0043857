"""How soon a host may be asked again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.flows.crawl.politeness.pace import (
    MAX_CONCURRENCY,
    MAX_FAILURES,
    MAX_RETRY_AFTER,
    REST_SECONDS,
    HostPace,
)


def pace(*, usual: float = 1.0, asked: float | None = None, failures: int = 0) -> HostPace:
    made = HostPace(usual=usual, failures=failures, now=0.0)
    made.robots_delay = asked
    return made


@pytest.mark.parametrize(
    ("wanted", "asked", "gap"),
    [
        (None, None, 1.0),  # the usual delay
        (None, 0.2, 0.2),  # robots.txt says how it is liked
        (None, 7.0, 7.0),
        (0.0, None, 0.0),
        (3.0, 0.2, 3.0),
        (0.0, 2.0, 2.0),  # a crawl may be slower than robots.txt asks for, but never faster
    ],
)
def test_the_delay_is_the_crawls_or_the_usual_one_but_never_less_than_robots_txt_asks_for(
    wanted: float | None, asked: float | None, gap: float
) -> None:
    assert pace(asked=asked).gap(wanted) == gap


def test_a_pause_is_counted_from_the_end_of_an_answer() -> None:
    host = pace()
    host.record_answer(10.0, 0.3, 200, 0.0)
    host.record_end(10.0, None)
    assert host.next_at == 11.0


def test_refusals_double_a_pause_which_answers_shorten_again() -> None:
    host = pace(usual=0.0)
    pauses = []
    for now in (0.0, 10.0, 20.0):
        host.record_answer(now, 0.01, 429, 0.0)
        host.record_end(now, None)
        pauses.append(host.next_at - now)
    assert pauses == [1.0, 2.0, 4.0]
    for _ in range(30):
        host.record_answer(100.0, 0.01, 200, 0.0)
    assert host.gap(None) == 0.0


def test_retry_after_is_heeded_up_to_an_hour() -> None:
    host = pace()
    host.record_answer(0.0, 0.01, 503, 90.0)
    host.record_end(0.0, None)
    assert host.next_at == 90.0
    host.record_answer(100.0, 0.01, 429, 1e9)
    assert host.next_at == 100.0 + MAX_RETRY_AFTER


def test_who_takes_long_to_answer_is_left_as_long_in_peace() -> None:
    host = pace(usual=0.5)
    host.record_answer(0.0, 4.0, 200, 0.0)
    assert host.gap(None) == 4.0
    quick = pace(usual=0.0)
    quick.record_answer(0.0, 0.2, 200, 0.0)
    assert quick.gap(None) == 0.0  # where no delay is wanted, only what is really slow counts
    quick.record_answer(0.0, 30.0, 200, 0.0)
    assert quick.gap(None) > 1.0


def test_who_floods_the_frontier_is_slowed_down_to_a_hundred_urls_a_second() -> None:
    host = pace()
    for number in range(20):
        host.record_urls(float(number), 1_000, None)
    assert host.next_at - 19.0 == pytest.approx((20_000 - 19 * 100 - 10_000) / 100)
    host.record_urls(500.0, 1_000, None)
    assert host.next_at < 500.0
    unbound = pace(usual=0.0)
    unbound.record_urls(0.0, 1_000_000, None)
    assert unbound.next_at == 0.0


def test_only_a_host_that_is_well_and_has_no_delay_is_asked_several_times_at_once() -> None:
    assert pace(usual=0.0).concurrency(None, 0.0) == MAX_CONCURRENCY
    assert pace().concurrency(0.0, 0.0) == MAX_CONCURRENCY
    assert pace().concurrency(None, 0.0) == 1
    assert pace(asked=2.0).concurrency(0.0, 0.0) == 1
    refused = pace()
    refused.record_answer(0.0, 0.01, 429, 0.0)
    assert refused.concurrency(0.0, 0.0) == 1
    failing = pace()
    failing.record_failure(0.0)
    assert failing.concurrency(0.0, 0.0) == 1


def test_after_five_failures_in_a_row_a_host_rests_and_needs_two_successes() -> None:
    host = pace()
    for now in range(MAX_FAILURES - 1):
        host.record_failure(float(now))
        assert not host.rest(float(now))
    host.record_answer(4.0, 0.01, 500, 0.0)
    assert host.rest(4.0) == REST_SECONDS
    later = 4.0 + REST_SECONDS
    assert not host.rest(later)
    host.record_answer(later, 0.01, 200, 0.0)
    assert host.failures == MAX_FAILURES  # one is not enough
    host.record_answer(later, 0.01, 200, 0.0)
    assert host.failures == 0
    assert host.concurrency(0.0, later) == MAX_CONCURRENCY


def test_who_leases_a_host_that_has_rested_tries_it_carefully() -> None:
    host = pace(failures=MAX_FAILURES)
    assert not host.rest(0.0)
    assert host.concurrency(0.0, 0.0) == 1
    host.record_failure(0.0)
    assert host.rest(0.0) == REST_SECONDS


@given(
    answers=st.lists(
        st.tuples(
            st.sampled_from([200, 301, 404, 429, 500, 503]),
            st.floats(0.0, 60.0),
            st.floats(0.0, 10_000.0),
        ),
        max_size=30,
    ),
    wanted=st.none() | st.floats(0.0, 60.0),
    asked=st.none() | st.floats(0.0, 60.0),
)
def test_whatever_a_host_answers_it_is_never_asked_before_its_delay_is_over(
    answers: list[tuple[int, float, float]], wanted: float | None, asked: float | None
) -> None:
    host, now = pace(asked=asked), 0.0
    for status, seconds, after in answers:
        now = max(now, host.next_at) + seconds
        host.record_answer(now, seconds, status, after)
        host.record_end(now, wanted)
        least = max(wanted, asked or 0.0) if wanted is not None else asked if asked is not None else 1.0
        assert host.next_at >= now + least
        assert host.next_at <= now + MAX_RETRY_AFTER
