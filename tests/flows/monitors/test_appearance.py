"""Appearance: the share of pixels that differ, without regions that may."""

import io

import pytest
from PIL import Image, ImageDraw

from gossamer.flows.monitors import appearance
from gossamer.flows.monitors.appearance import differing_share
from gossamer.problems import Problem
from gossamer.web.monitors.rules.change_rule import AppearanceRule, PageRegion


def picture(*boxes: tuple[int, int, int, int], height: int = 100, ground: str = "white") -> bytes:
    image = Image.new("RGB", (100, height), ground)
    for box in boxes:
        ImageDraw.Draw(image).rectangle(box, fill="black")
    body = io.BytesIO()
    image.save(body, "PNG")
    return body.getvalue()


async def test_the_same_picture_does_not_differ() -> None:
    assert await differing_share(picture(), picture(), AppearanceRule()) == 0


async def test_a_tenth_of_the_pixels() -> None:
    assert await differing_share(picture(), picture((0, 0, 99, 9)), AppearanceRule()) == pytest.approx(0.1)


async def test_regions_that_may_differ_do_not_count() -> None:
    rule = AppearanceRule(ignore=(PageRegion(0, 0, 100, 5),))
    assert await differing_share(picture(), picture((0, 0, 99, 9)), rule) == pytest.approx(0.05)


async def test_colours_that_are_almost_the_same_do_not_count() -> None:
    old, new = picture(ground="#ffffff"), picture(ground="#f0f0f0")
    assert await differing_share(old, new, AppearanceRule(tolerance=24)) == 0
    assert await differing_share(old, new, AppearanceRule(tolerance=5)) == 1


async def test_a_page_that_has_grown_differs_where_only_one_of_them_is() -> None:
    share = await differing_share(picture(), picture(height=200), AppearanceRule())
    assert share == pytest.approx(0.5)


async def test_a_picture_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appearance, "MAX_PIXELS", 99)
    with pytest.raises(Problem, match="too large"):
        await differing_share(picture(), picture(), AppearanceRule())
