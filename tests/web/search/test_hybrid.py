"""Hybrid ranking: words and meaning on one scale."""

import pytest

from gossamer.web.search.fusion import MEANING, blend
from gossamer.web.search.terms import Standing
from gossamer.web.search.vectors import NearestPages, NearestPassage


def standing(score: float, *, is_behind: bool = False) -> Standing:
    return Standing(score, (), is_behind)


def test_without_near_pages_nothing_changes() -> None:
    standings = {1: standing(7.0), 2: standing(3.0, is_behind=True)}
    assert blend(standings, NearestPages()) == standings


def test_scores_are_shares_of_the_best() -> None:
    near = NearestPages([NearestPassage(3, 0, 0.7), NearestPassage(2, 0, 0.5)], floor=0.3)
    blended = blend({1: standing(8.0), 2: standing(4.0), 3: standing(0.0)}, near)
    assert [blended[page].order[1] for page in (1, 2, 3)] == pytest.approx(
        [-1.0, -(0.5 + MEANING * 0.5), -MEANING]
    )


def test_the_scale_of_a_model_does_not_matter() -> None:
    standings = {1: standing(1.0), 2: standing(2.0)}
    wide = NearestPages([NearestPassage(1, 0, 0.6), NearestPassage(2, 0, 0.2)], floor=0.1)
    narrow = NearestPages([NearestPassage(1, 0, 0.86), NearestPassage(2, 0, 0.82)], floor=0.81)
    assert blend(standings, wide)[2].meaning == pytest.approx(blend(standings, narrow)[2].meaning)


def test_a_page_that_is_near_is_not_behind_for_a_missing_word() -> None:
    near = NearestPages([NearestPassage(1, 0, 0.3)], floor=0.3)
    blended = blend({1: standing(1.0, is_behind=True), 2: standing(1.0, is_behind=True)}, near)
    assert [blended[1].is_behind, blended[2].is_behind] == [False, True]
    assert blended[1].meaning == MEANING  # it is the nearest, and there is no other to compare with
