"""How long hosts take to give their pages, each asked by one request at a time and with a pause between.

A discrete simulation: hosts of Zipf sizes, grouped where they are nearly as large. All unfinished hosts move
on at the same pace, as fast as politeness allows or as the workers can; time goes from one group's end to the
next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

GROWTH: Final = 1.05  # of the ranks in a group to the ranks before it
DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class HostGroup:
    hosts: float
    pages: float  # of each


@dataclass(frozen=True, slots=True)
class Progress:
    days: float
    pages: float  # done by then


def zipf(pages: float, hosts: int, exponent: float, largest: float) -> list[HostGroup]:
    """Groups of hosts, largest first, that have `pages` in all; none has more than `largest`."""
    ranks: list[tuple[int, float]] = []  # how many hosts, and their weight
    rank = 1
    while rank <= hosts:
        end = min(hosts, max(rank, int(rank * GROWTH)))
        ranks.append((end - rank + 1, ((rank + end) / 2) ** -exponent))
        rank = end + 1
    return _scale(ranks, pages, largest)


def _scale(ranks: Sequence[tuple[int, float]], pages: float, largest: float) -> list[HostGroup]:
    """What the largest hosts may not have, the others do."""
    low, high = 0.0, pages / min(weight for _, weight in ranks)
    for _ in range(200):
        factor = (low + high) / 2
        if sum(count * min(largest, factor * weight) for count, weight in ranks) < pages:
            low = factor
        else:
            high = factor
    return [HostGroup(count, min(largest, high * weight)) for count, weight in ranks]


def crawl(groups: Sequence[HostGroup], seconds_per_page: float, pages_per_second: float) -> list[Progress]:
    """When each group is done, smallest hosts first."""
    waiting = sorted(groups, key=lambda group: group.pages)
    active = sum(group.hosts for group in waiting)
    time = each = done = 0.0
    progress = [Progress(0, 0)]
    for group in waiting:
        pace = min(1 / seconds_per_page, pages_per_second / active)  # of one host
        step = group.pages - each
        time += step / pace
        done += step * active
        each = group.pages
        active -= group.hosts
        progress.append(Progress(time / DAY, done))
    return progress


def days_until(progress: Sequence[Progress], share: float) -> float:
    wanted = progress[-1].pages * share
    for before, after in pairwise(progress):
        if after.pages >= wanted:
            between = (wanted - before.pages) / (after.pages - before.pages or 1)
            return before.days + between * (after.days - before.days)
    return progress[-1].days
