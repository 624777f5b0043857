"""PageRank, hubs and authorities of a graph, by power iteration: with numpy where it is installed, else in
Python, which takes some ten times as long."""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import sqrt
from typing import Any, Final

DAMPING: Final = 0.85
MAX_ROUNDS: Final = 60
CLOSE_ENOUGH: Final = 1e-7  # change of all ranks together
HUB_ROUNDS: Final = 20

Floats = Sequence[float]
Pause = Callable[[], None]  # called between two rounds


class LinkMatrix(ABC):
    """Which page links to which, as a matrix that vectors are multiplied with."""

    count: int  # pages

    @abstractmethod
    def all(self, value: float) -> Any:
        """A vector with this value for each page."""

    @abstractmethod
    def forward(self, values: Any) -> Any:
        """The value of each page to every page that it links to, added up."""

    @abstractmethod
    def back(self, values: Any) -> Any:
        """To each page the values of those that it links to, added up."""

    @abstractmethod
    def shared(self, values: Any) -> tuple[Any, float]:
        """The value of each page divided by the number of its links; and the values of pages without any,
        added up."""

    @abstractmethod
    def scaled(self, values: Any, factor: float, plus: float = 0.0) -> Any: ...

    @abstractmethod
    def distance(self, one: Any, other: Any) -> float: ...

    def unit(self, values: Any) -> Any:
        return self.scaled(values, 1 / (sqrt(self.square(values)) or 1.0))

    @abstractmethod
    def square(self, values: Any) -> float: ...


def link_matrix(starts: "array[int]", targets: "array[int]") -> LinkMatrix:
    """From the arrays of a `CrawlGraph`."""
    fast = find_spec("numpy") is not None
    return NumpyLinks(starts, targets) if fast else PlainLinks(starts, targets)


def page_rank(links: LinkMatrix, pause: Pause = lambda: None) -> Floats:
    """The share of visits that each page gets from somebody who follows links at random. The sum is 1; pages
    without links lead anywhere."""
    if not links.count:
        return ()
    ranks = links.all(1 / links.count)
    for _ in range(MAX_ROUNDS):
        shares, lost = links.shared(ranks)
        anywhere = (1 - DAMPING + DAMPING * lost) / links.count
        after = links.scaled(links.forward(shares), DAMPING, anywhere)
        change = links.distance(ranks, after)
        ranks = after
        pause()
        if change < CLOSE_ENOUGH:
            break
    return array("d", ranks)


def hubs_and_authorities(links: LinkMatrix, pause: Pause = lambda: None) -> tuple[Floats, Floats]:
    """Kleinberg's: a good hub links to good authorities. The best of each has 1."""
    hubs = authorities = links.all(1.0)
    for _ in range(HUB_ROUNDS):
        authorities = links.unit(links.forward(hubs))
        hubs = links.unit(links.back(authorities))
        pause()
    return _to_best(hubs), _to_best(authorities)


def _to_best(values: Any) -> Floats:
    best = max(values, default=0.0) or 1.0
    return array("d", [value / best for value in values])


class PlainLinks(LinkMatrix):
    def __init__(self, starts: "array[int]", targets: "array[int]") -> None:
        self.count = len(starts) - 1
        self._starts, self._targets = starts, targets

    def all(self, value: float) -> list[float]:
        return [value] * self.count

    def forward(self, values: Floats) -> list[float]:
        starts, targets, sums = self._starts, self._targets, [0.0] * self.count
        for number, value in enumerate(values):
            for target in targets[starts[number] : starts[number + 1]]:
                sums[target] += value
        return sums

    def back(self, values: Floats) -> list[float]:
        starts, targets = self._starts, self._targets
        return [
            sum([values[target] for target in targets[starts[number] : starts[number + 1]]])
            for number in range(self.count)
        ]

    def shared(self, values: Floats) -> tuple[list[float], float]:
        starts, lost, shares = self._starts, 0.0, []
        for number, value in enumerate(values):
            links = starts[number + 1] - starts[number]
            shares.append(value / links if links else 0.0)
            lost += 0.0 if links else value
        return shares, lost

    def scaled(self, values: Floats, factor: float, plus: float = 0.0) -> list[float]:
        return [value * factor + plus for value in values]

    def distance(self, one: Floats, other: Floats) -> float:
        return sum(abs(new - old) for old, new in zip(one, other, strict=True))

    def square(self, values: Floats) -> float:
        return sum(value * value for value in values)


class NumpyLinks(LinkMatrix):
    def __init__(self, starts: "array[int]", targets: "array[int]") -> None:
        import numpy as np  # an extra

        self._np = np
        self.count = len(starts) - 1
        self._to = np.array(targets, dtype=np.uint32)
        begins = np.array(starts, dtype=np.int64)
        self._lengths = begins[1:] - begins[:-1]
        self._from = np.repeat(np.arange(self.count, dtype=np.uint32), self._lengths)
        self._divisors = np.maximum(self._lengths, 1)

    def all(self, value: float) -> Any:
        return self._np.full(self.count, value)

    def forward(self, values: Any) -> Any:
        return self._np.bincount(self._to, weights=values[self._from], minlength=self.count)

    def back(self, values: Any) -> Any:
        return self._np.bincount(self._from, weights=values[self._to], minlength=self.count)

    def shared(self, values: Any) -> tuple[Any, float]:
        return values / self._divisors, float(values[self._lengths == 0].sum())

    def scaled(self, values: Any, factor: float, plus: float = 0.0) -> Any:
        return values * factor + plus

    def distance(self, one: Any, other: Any) -> float:
        return float(self._np.abs(other - one).sum())

    def square(self, values: Any) -> float:
        return float((values * values).sum())
