"""Appearance: the share of pixels in which two pictures of a page differ."""

import asyncio
import io
from importlib.util import find_spec
from typing import Any, Final

from gossamer.problems import CAPTURE_TOO_LARGE, UNPROCESSABLE_ENTITY, Problem
from gossamer.web.monitors.rules.change_rule import AppearanceRule

MAX_PIXELS: Final = 16_000_000  # of one picture; ours have at most 3840 by 4000


def demand_pictures() -> None:
    """Raises `Problem` if pictures cannot be compared here."""
    if find_spec("PIL") is None:
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "Pictures cannot be compared here: the package Pillow is missing.",
            hint="The operator installs gossamer[appearance].",
            details={"reason": "no_pillow"},
        )


async def differing_share(old: bytes, new: bytes, rule: AppearanceRule) -> float:
    """From 0 to 1. What only one of them has, because it is taller, differs."""
    return await asyncio.to_thread(_share, old, new, rule)


def _share(old: bytes, new: bytes, rule: AppearanceRule) -> float:
    from PIL import Image, ImageChops, ImageDraw

    before, after = _open(old), _open(new)
    width, height = max(before.width, after.width), max(before.height, after.height)
    # Where only one of them is, they differ as much as they can.
    sides = [Image.new("RGB", (width, height), ground) for ground in ("black", "white")]
    for side, picture in zip(sides, (before, after), strict=True):
        side.paste(picture, (0, 0))
    difference = ImageChops.difference(*sides)
    strongest = _strongest_channel(difference, ImageChops)
    draw = ImageDraw.Draw(strongest)
    for region in rule.ignore:
        right, bottom = region.left + region.width - 1, region.top + region.height - 1
        draw.rectangle((region.left, region.top, right, bottom), fill=0)
    counts: list[int] = strongest.histogram()
    return float(sum(counts[rule.tolerance + 1 :]) / max(1, width * height))


def _strongest_channel(picture: Any, chops: Any) -> Any:
    red, green, blue = picture.split()
    return chops.lighter(chops.lighter(red, green), blue)


def _open(body: bytes) -> Any:
    from PIL import Image

    picture = Image.open(io.BytesIO(body), formats=("PNG",))
    if picture.width * picture.height > MAX_PIXELS:
        raise Problem(CAPTURE_TOO_LARGE, "The picture is too large to be compared.")
    return picture.convert("RGB")
