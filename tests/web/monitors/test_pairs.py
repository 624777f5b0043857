"""The floor: what monitors may get wrong on known pairs of pages."""

import pytest
from tests.web.monitors.known_pages import judge_pairs, snapshot_of, verdict_on
from tests.web.monitors.page_pairs import HOUR, SEEN_AT, Half, page_pairs

from gossamer.web.monitors.rules.change_rule import TextRule
from gossamer.web.monitors.rules.comparing import ChangeVerdict, SnapshotComparison

HALVES: tuple[Half, ...] = ("tuning", "judged")


@pytest.mark.parametrize("half", HALVES)
def test_noise_raises_no_alarm_and_no_change_is_missed(half: Half) -> None:
    errors = judge_pairs(lambda pair: verdict_on(pair).is_change, page_pairs(half))
    assert [f"{pair.page}: {pair.name}" for pair in errors.misses] == []
    assert [f"{pair.page}: {pair.name}" for pair in errors.false_alarms] == []


def test_a_page_is_equal_to_itself_at_any_later_time() -> None:
    pages = {(pair.half, pair.page): pair.before for half in HALVES for pair in page_pairs(half)}
    assert len(pages) == 16
    for html in pages.values():
        old, new = (snapshot_of(html, at) for at in (SEEN_AT, SEEN_AT + 100 * 24 * HOUR))
        assert SnapshotComparison(old, new).judge((TextRule(),)) == ChangeVerdict()
