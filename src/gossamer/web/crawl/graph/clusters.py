"""Clusters: the pages of a graph by host and folder, few enough to be drawn.

The largest cluster is divided by the next part of its pages' addresses until there are enough clusters. A
folder with few pages stays with its siblings. What is left at the end is a page, or a folder that can be
looked into by itself.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct, field

from gossamer.web.crawl.graph.crawl_graph import CrawlGraph

MAX_CLUSTERS: Final = 40
MAX_TIES: Final = 120
MIN_SHARE: Final = 200  # a folder is a cluster of its own if it has one page of this many
_FOLDER: Final = re.compile("/")
_WORD: Final = re.compile(r"[a-z0-9][-_.+/]", re.I)
OTHERS: Final = "…"  # what a folder has besides its larger folders


class Cluster(Struct, frozen=True):
    """Pages whose addresses begin alike."""

    prefix: str  # `host:port/folder/`; of one page, its whole address
    pages: int
    rank: float  # the sum of its pages' PageRanks
    broken: int
    redirects: int
    example: int  # its page with the highest rank
    is_rest: bool = False  # it is what is left of the folder, without its larger folders

    label: str = ""  # its address in the picture, without what all have in common

    @property
    def family(self) -> str:
        """The folder around it, or the one that it is the rest of."""
        return self.prefix if self.is_rest else self.prefix.rstrip("/").rpartition("/")[0] + "/"


class Tie(Struct, frozen=True):
    """Links from pages of one cluster to pages of another, by the places of the clusters in their list."""

    source: int
    target: int
    links: int


class Clusters(Struct, frozen=True):
    within: str
    pages: int
    clusters: Sequence[Cluster]
    ties: Sequence[Tie]


class _Group(Struct):
    prefix: str
    numbers: list[int] = field(default_factory=list)
    is_rest: bool = False


def cluster(
    graph: CrawlGraph, ranks: Sequence[float], within: str = "", most: int = MAX_CLUSTERS
) -> Clusters:
    """The clusters of all pages, or of those whose addresses begin with `within`."""
    paths = [_address(page.host, page.url) for page in graph.pages]
    numbers = [number for number, path in enumerate(paths) if path.startswith(within)]
    groups = _divide(numbers, paths, within, most)
    common = _common(groups, within)
    found = [_to_cluster(group, graph, ranks, common) for group in groups]
    order = sorted(range(len(found)), key=lambda place: (-found[place].pages, found[place].prefix))
    place_of = {number: place for place, index in enumerate(order) for number in groups[index].numbers}
    return Clusters(within, len(numbers), [found[index] for index in order], _ties(graph, place_of))


def _divide(numbers: Sequence[int], paths: Sequence[str], within: str, most: int) -> list[_Group]:
    least = max(1, len(numbers) // MIN_SHARE)
    done: list[_Group] = []
    waiting = [_Group(within, list(numbers))]
    while waiting and len(done) + len(waiting) < most:
        waiting.sort(key=lambda group: len(group.numbers))
        group = waiting.pop()
        room = most - len(done) - len(waiting)
        for part in _parts(group, paths, least, room, by_words=group.prefix == within):
            is_word = not part.prefix.endswith("/")
            is_done = part.is_rest or is_word or part.prefix == group.prefix or len(part.numbers) == 1
            (done if is_done else waiting).append(part)
    return [group for group in (*done, *waiting) if group.numbers]


def _parts(group: _Group, paths: Sequence[str], least: int, room: int, *, by_words: bool) -> list[_Group]:
    """The folders of a group with enough pages, at most as many as there is room for, and the rest. A folder
    that somebody looks into, and that has hardly any folders, may be divided by the first words of names."""
    found = _split(group, paths, _FOLDER)
    folders = [prefix for prefix, numbers in found.items() if len(numbers) >= max(least, 2)]
    if by_words and len(found) > room and len(folders) < 2:
        found = _split(group, paths, _WORD)
    own = found.pop(group.prefix, [])
    large = sorted(found.items(), key=lambda part: (-len(part[1]), part[0]))
    if len(large) > room - 1 or (not by_words and len(large) > len(folders)):
        large = [part for part in large if len(part[1]) >= max(least, 2)][: room - 1]
    kept = dict(large)
    rest = [*own, *(number for prefix, numbers in found.items() if prefix not in kept for number in numbers)]
    if not kept or room < 2:
        return [group]
    parts = [_Group(prefix, numbers) for prefix, numbers in kept.items()]
    return [*parts, _Group(group.prefix, rest, is_rest=True)] if rest else parts


def _split(group: _Group, paths: Sequence[str], end: re.Pattern[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for number in group.numbers:
        path = paths[number]
        after = end.search(path, len(group.prefix))
        found[path[: after.end()] if after else path].append(number)
    return found


def _to_cluster(group: _Group, graph: CrawlGraph, ranks: Sequence[float], common: str) -> Cluster:
    pages = [graph.pages[number] for number in group.numbers]
    return Cluster(
        group.prefix,
        len(pages),
        sum(ranks[number] for number in group.numbers),
        sum(page.is_broken for page in pages),
        sum(page.is_redirect for page in pages),
        max(group.numbers, key=lambda number: ranks[number]),
        group.is_rest,
        _label(group, common),
    )


def _common(groups: Sequence[_Group], within: str) -> str:
    """What the labels leave out: the folder that is looked into, or the only host."""
    hosts = {group.prefix.partition("/")[0] for group in groups}
    return within or (f"{hosts.pop()}/" if len(hosts) == 1 else "")


def _label(group: _Group, common: str) -> str:
    """The last two parts of its address: years and languages are called alike in many folders."""
    address = group.prefix.removeprefix(common).rstrip("/")
    if group.is_rest:
        return f"{address}/{OTHERS}" if address else OTHERS
    parts = (address or group.prefix.rstrip("/")).split("/")
    return "/".join(parts[-2:])


def _ties(graph: CrawlGraph, place_of: dict[int, int]) -> list[Tie]:
    """The strongest ties, and for every cluster its strongest one, so that none looks unlinked."""
    links: Counter[tuple[int, int]] = Counter()
    for number, place in place_of.items():
        for target in graph.out(number):
            other = place_of.get(target, place)
            if other != place:
                links[place, other] += 1
    ranked = [Tie(*pair, count) for pair, count in links.most_common()]
    kept = dict.fromkeys(ranked[:MAX_TIES])
    tied: set[int] = set()
    for tie in ranked:
        if not {tie.source, tie.target} <= tied:
            kept[tie] = None
        tied |= {tie.source, tie.target}
    return list(kept)


def _address(host: str, url: str) -> str:
    """How the address of a page is divided: the host first, then folders, without the query."""
    rest = url.partition("://")[2]
    path = rest.partition("/")[2].partition("?")[0]
    return f"{host}/{path}"


def parents(within: str) -> Iterable[str]:
    """The folders above, the outermost first."""
    parts = within.rstrip("/").split("/") if within else []
    return ["/".join(parts[:count]) + "/" for count in range(1, len(parts))]
