"""Refreshing: what counts as a change, and when a page is visited again."""

import pytest

from gossamer.web.crawl.refresh.importance import weight_of
from gossamer.web.crawl.refresh.page_change import NOISY, PageChange, PageContentMark, PastVisits, compare
from gossamer.web.crawl.refresh.revisit import gain_of, interval_of, next_visit
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS, VisitHistory

LEAST, MOST = HOUR_MS, 30 * DAY_MS
NEVER = PastVisits()
FULL = "f" * 32
GOOD = PageContentMark(status=200, content_hash="a", fingerprint=FULL)
REDIRECT = PageContentMark(status=302, content_hash="https://site.example/elsewhere")


def good(content: str, print_: str = FULL) -> PageContentMark:
    return PageContentMark(status=200, content_hash=content, fingerprint=print_)


def test_the_text_decides_what_is_a_change() -> None:
    assert compare(None, GOOD, NEVER) is PageChange.NEW
    assert compare(GOOD, GOOD, NEVER) is PageChange.UNCHANGED
    assert compare(GOOD, good("b", "0" * 32), NEVER) is PageChange.CHANGED
    assert compare(GOOD, PageContentMark(status=304), NEVER) is PageChange.NOT_MODIFIED


def test_next_to_nothing_is_noise_once_every_visit_finds_it() -> None:
    touched = good("b")
    assert compare(GOOD, touched, PastVisits(touches=NOISY - 1)) is PageChange.TOUCHED
    assert compare(GOOD, touched, PastVisits(touches=NOISY)) is PageChange.NOISE
    assert compare(GOOD, good("b", "0" * 32), PastVisits(touches=NOISY)) is PageChange.CHANGED
    assert PageChange.NOISE.is_stored
    assert not PageChange.NOISE.is_told


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_is_gone_when_it_is_missing_twice(status: int) -> None:
    missing = PageContentMark(status=status, outcome="error")
    assert compare(GOOD, missing, NEVER) is PageChange.MISSED
    assert compare(GOOD, missing, PastVisits(misses=1)) is PageChange.GONE
    assert compare(missing, missing, NEVER) is PageChange.UNCHANGED
    assert compare(missing, GOOD, NEVER) is PageChange.CHANGED


def test_a_redirect_that_lasts_moves_a_page_at_once_and_another_when_it_is_seen_twice() -> None:
    assert compare(GOOD, PageContentMark(status=301, content_hash="x"), NEVER) is PageChange.MOVED
    assert compare(GOOD, REDIRECT, NEVER) is PageChange.MISSED
    assert compare(GOOD, REDIRECT, PastVisits(misses=1)) is PageChange.MOVED
    assert compare(REDIRECT, REDIRECT, NEVER) is PageChange.UNCHANGED
    assert compare(REDIRECT, GOOD, NEVER) is PageChange.CHANGED


@pytest.mark.parametrize(
    "found",
    [
        PageContentMark(status=None),
        PageContentMark(status=503, outcome="error"),
        PageContentMark(status=200, outcome="challenge", content_hash="b"),
        PageContentMark(status=302, outcome="error"),
    ],
)
def test_nothing_else_takes_the_place_of_a_good_page(found: PageContentMark) -> None:
    change = compare(GOOD, found, PastVisits(misses=0))
    assert change in (PageChange.FAILED, PageChange.MISSED)
    assert not change.is_stored


def visited(*changes: PageChange, every: int = DAY_MS) -> VisitHistory:
    history = VisitHistory(visited_at=0)
    for number, change in enumerate(changes, 1):
        history = history.after(change, number * every)
    return history


def test_pages_that_change_are_visited_more_often_than_those_that_do_not() -> None:
    still = visited(*[PageChange.UNCHANGED] * 10)
    lively = visited(*[PageChange.CHANGED, PageChange.UNCHANGED] * 5)
    assert interval_of(lively, 1.0, LEAST, MOST) < DAY_MS * 1.5 < interval_of(still, 1.0, LEAST, MOST)
    assert lively.rate > 5 * still.rate


def test_one_visit_decides_little() -> None:
    """Neither a first change nor a first visit without one makes the interval more than twice another."""
    before = interval_of(visited(), 1.0, LEAST, MOST)
    changed = interval_of(visited(PageChange.CHANGED), 1.0, LEAST, MOST)
    same = interval_of(visited(PageChange.UNCHANGED), 1.0, LEAST, MOST)
    assert before / 2.5 < changed < before < same < before * 2


def test_a_page_may_change_its_ways() -> None:
    once_lively = visited(*[PageChange.CHANGED] * 200, *[PageChange.UNCHANGED] * 60)
    assert once_lively.rate < visited(*[PageChange.CHANGED] * 200).rate / 5
    assert once_lively.visits == 260
    assert once_lively.changes == 200


def test_intervals_stay_within_their_bounds() -> None:
    assert interval_of(visited(*[PageChange.UNCHANGED] * 90), 1.0, LEAST, 3 * DAY_MS) == 3 * DAY_MS
    assert interval_of(visited(*[PageChange.CHANGED] * 90, every=60_000), 1.0, LEAST, MOST) == LEAST


def test_what_is_not_there_is_looked_for_again_soon_and_what_is_gone_seldom() -> None:
    still = [PageChange.UNCHANGED] * 5
    assert interval_of(visited(*still, PageChange.MISSED), 1.0, LEAST, MOST) == 6 * HOUR_MS
    gone = visited(*still, PageChange.MISSED, PageChange.GONE)
    assert gone.gone_at == 7 * DAY_MS
    assert interval_of(gone, 1.0, LEAST, MOST) == MOST
    back = gone.after(PageChange.CHANGED, 40 * DAY_MS)
    assert back.gone_at is None
    assert back.misses == 0


def test_failures_put_a_page_off_longer_and_longer_and_say_nothing_of_its_rate() -> None:
    first, second = visited(PageChange.FAILED), visited(PageChange.FAILED, PageChange.FAILED)
    assert [interval_of(one, 1.0, LEAST, MOST) for one in (first, second)] == [HOUR_MS, 2 * HOUR_MS]
    assert first.rate == visited().rate
    assert second.visited_at == 0
    assert second.after(PageChange.UNCHANGED, DAY_MS).failures == 0


def test_important_pages_and_old_ones_come_first() -> None:
    history = visited(*[PageChange.CHANGED, PageChange.UNCHANGED] * 3)
    at = history.visited_at
    assert gain_of(history, 1.0, at) == 0
    assert gain_of(history, 1.0, at + HOUR_MS) < gain_of(history, 1.0, at + DAY_MS)
    seed, list_page = (gain_of(history, weight_of(priority), at + DAY_MS) for priority in (3, 1))
    assert seed == 4 * list_page
    assert interval_of(history, 2.0, LEAST, MOST) < interval_of(history, 0.5, LEAST, MOST)


def test_visits_are_spread_by_a_tenth() -> None:
    history = visited(PageChange.UNCHANGED)
    whole = interval_of(history, 1.0, LEAST, MOST)
    assert next_visit(history, 1.0, 5, LEAST, MOST, 0.0) == 5 + whole
    assert next_visit(history, 1.0, 5, LEAST, MOST, 1.0) == 5 + round(whole * 0.9)
