"""Paths that run in circles: `/a/b/a/b/a/b`, as links make them that are relative to the wrong folder."""

from collections import Counter
from typing import Final

FEW: Final = 4  # folders, in which nothing is looked for
CIRCLES: Final = 3  # times round: found on a page that adds nothing, this is none of the site
MAX_CIRCLES: Final = 6  # times round, wherever it was found
SAME: Final = 4  # times the same folder, in any order
MAX_FOLDERS: Final = 40


def is_too_deep(path: str) -> bool:
    return path.count("/") > MAX_FOLDERS


def runs_in_circles(path: str, *, adds_nothing: bool) -> bool:
    """`adds_nothing`: the page that links to it does not."""
    if path.count("/") < FEW:
        return False
    folders = [each for each in path.split("/") if each]
    if len(set(folders)) == len(folders):
        return False
    if rounds(folders) >= (CIRCLES if adds_nothing else MAX_CIRCLES):
        return True
    if not adds_nothing or len(folders) < SAME:
        return False
    return max(Counter(each for each in folders if not each.isdecimal()).values(), default=0) >= SAME


def rounds(folders: list[str]) -> int:
    """How often the path goes the same round, one after the other; numbers alone are no round."""
    most = 1
    for length in range(1, len(folders) // 2 + 1):
        run = 0
        for at in range(length, len(folders)):
            run = run + 1 if folders[at] == folders[at - length] else 0
            if run // length + 1 > most and not all(
                each.isdecimal() for each in folders[at - length + 1 : at + 1]
            ):
                most = run // length + 1
    return most
