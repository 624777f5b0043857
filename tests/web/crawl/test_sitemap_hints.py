"""Hints of sitemaps: what is read, what is news, and when it is believed; and the weights of pages."""

import pytest

from gossamer.web.crawl.refresh.importance import LEAST, MOST, importances, weight_of
from gossamer.web.crawl.refresh.page_change import PageChange
from gossamer.web.crawl.refresh.revisit import gain_of, interval_of, is_worth_a_hint, patience_of
from gossamer.web.crawl.refresh.sitemap_hints import (
    BELIEVED,
    ENOUGH,
    MOST_PATIENCE,
    HintRecord,
    SaidTime,
    read_frequency,
    read_time,
)
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS, VisitHistory
from gossamer.web.robots.sitemap import read

NOW = 1_767_225_600_000  # 2026-01-01
MOST_MS = 30 * DAY_MS


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2025-12-31", NOW - DAY_MS, NOW - 1),
        ("2025-12-31T23:00:00Z", NOW - HOUR_MS, NOW - HOUR_MS),
        ("2026-01-01T00:00:00+01:00", NOW - HOUR_MS, NOW - HOUR_MS),
        (" 2025-12-31T23:00:00 ", NOW - HOUR_MS, NOW - HOUR_MS),  # without a zone it is UTC
    ],
)
def test_a_lastmod_is_a_time_or_any_time_of_a_day(text: str, first: int, last: int) -> None:
    assert read_time(text, NOW) == SaidTime(first, last)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2025",
        "2025-12",
        "yesterday at noon",
        "2025-13-45",
        "2027-01-01",
        "9999-99-99T00:00",
        "0001-01-01",
    ],
)
def test_what_names_no_day_or_lies_ahead_says_nothing(text: str) -> None:
    assert read_time(text, NOW) is None


def test_a_changefreq_is_a_rate_to_begin_with() -> None:
    days = [read_frequency(word) for word in ("hourly", " Daily ", "weekly", "never")]
    rates = [VisitHistory(visited_at=0, prior_days=each).rate for each in days if each]
    assert len(rates) == 4
    assert rates == sorted(rates, reverse=True)
    assert 0.8 < rates[1] < 1.2
    assert read_frequency("often") is None


def test_sitemaps_are_read_with_both() -> None:
    said = b"<loc>https://a.example/</loc><lastmod>2026-01-01</lastmod><changefreq>daily</changefreq>"
    body = b"<urlset><url>" + said + b"</url></urlset>"
    [entry] = read(body).entries
    assert (entry.modified, entry.frequency) == ("2026-01-01", "daily")


def test_a_time_after_the_visit_is_news_and_a_day_is_news_once() -> None:
    exact, day = SaidTime(NOW, NOW), SaidTime(NOW, NOW + DAY_MS - 1)
    noon = NOW + DAY_MS // 2
    assert exact.is_news(NOW - 1, None)
    assert not exact.is_news(NOW + 1, None)
    assert not exact.is_news(NOW + 1, NOW - DAY_MS)  # it was seen
    assert not day.is_news(noon, None)  # it may have been seen
    assert day.is_news(noon, NOW - 1)  # the sitemap said something else before
    assert not day.is_news(noon, day.last)


def record(followed: int, confirmed: int, silent: int = 0) -> HintRecord:
    found = HintRecord()
    for number in range(followed):
        found = found.after_hint(changed=number < confirmed)
    for _ in range(silent):
        found = found.after_change(announced=False)
    return found


def test_hints_count_until_most_are_wrong() -> None:
    assert HintRecord().is_believed
    assert record(ENOUGH - 1, 0).is_believed
    assert not record(ENOUGH, 0).is_believed
    assert record(100, 40).is_believed
    liar = record(100, 5)
    assert liar.rightness < BELIEVED
    assert not liar.is_believed
    lucky = HintRecord()
    for number in range(100):  # of pages that change all the time, so every hint is right
        lucky = lucky.after_hint(changed=number % 10 > 0, expected=0.9)
    for _ in range(20):  # and of some that do not
        lucky = lucky.after_hint(changed=False)
    assert not lucky.is_believed
    for _ in range(400):  # it has changed its ways
        liar = liar.after_hint(changed=True)
    assert liar.is_believed


def test_silence_counts_where_changes_are_announced() -> None:
    assert record(ENOUGH - 1, ENOUGH - 1).patience == 1.0
    assert record(50, 50).patience == MOST_PATIENCE
    assert 2 < record(50, 50, silent=8).patience < MOST_PATIENCE * 1.5
    assert record(50, 50, silent=50).patience == 1.0
    assert record(0, 0, silent=50).patience == 1.0  # a `lastmod` that never changes


def visited(*changes: PageChange) -> VisitHistory:
    history = VisitHistory(visited_at=0)
    for number, change in enumerate(changes, 1):
        history = history.after(change, number * DAY_MS)
    return history


def test_a_hint_is_worth_a_visit_unless_the_page_changes_faster_than_that() -> None:
    good = record(20, 20)
    slow, fast = visited(*[PageChange.UNCHANGED] * 20), VisitHistory(visited_at=0)
    for hour in range(1, 60):
        fast = fast.after(PageChange.CHANGED, hour * HOUR_MS)
    assert is_worth_a_hint(slow, 1.0, good)
    assert not is_worth_a_hint(fast, 1.0, good)
    assert not is_worth_a_hint(slow, 1.0, record(20, 0))
    assert patience_of(slow, 1.0, good) == MOST_PATIENCE
    assert patience_of(fast, 1.0, good) == patience_of(slow, 1.0, None) == 1.0
    plain = interval_of(visited(), 1.0, HOUR_MS, MOST_MS)
    assert interval_of(visited(), 1.0, HOUR_MS, MOST_MS, 3.0) == pytest.approx(3 * plain, abs=2)
    now = slow.visited_at + HOUR_MS
    assert gain_of(slow, 1.0, now, changed=0.9) > 10 * gain_of(slow, 1.0, now)


def test_pages_weigh_by_their_rank_within_bounds() -> None:
    found = importances([0.5, 0.25, 0.125, 0.125, *[0.0] * 4])
    assert found == [2.0, 1.41, 1.0, 1.0, *[LEAST] * 4]
    assert max(importances([1.0, *[0.0] * 999])) == MOST
    assert importances([]) == []
    assert weight_of(3, 2.0) == 4 * weight_of(2, 1.0)
