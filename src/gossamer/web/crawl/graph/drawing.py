"""Where the clusters of a graph are drawn: forces without chance, so that a graph always looks alike."""

from collections.abc import Iterator, Sequence
from math import cos, hypot, pi, sin, sqrt
from typing import Final

from msgspec import Struct

from gossamer.web.crawl.graph.clusters import Cluster, Clusters

WIDTH: Final = 1000.0
HEIGHT: Final = 640.0
MARGIN: Final = 24.0
LABEL: Final = 18.0  # height of a label, below its circle
LETTER: Final = 5.8  # width of a letter of it, about
MAX_LABEL: Final = 22  # letters
GAP: Final = 4.0  # between two
MAX_SHARE: Final = 0.45  # of the picture, that circles and labels may take
SMALLER: Final = 0.95
KINSHIP: Final = 0.5  # how much folders of one folder attract each other
HUES: Final = 8
MIN_RADIUS: Final = 7.0
MAX_RADIUS: Final = 58.0
ROUNDS: Final = 160
PARTINGS: Final = 250  # at most
GOLDEN: Final = pi * (3 - sqrt(5))
MIN_WEIGHT: Final = 0.6  # of a line
MAX_WEIGHT: Final = 5.0


class Circle(Struct):
    """A cluster, where it stands."""

    cluster: Cluster
    radius: float
    x: float
    y: float
    hue: int  # the same for folders of one folder

    @property
    def label(self) -> str:
        """As much of it as there is room for."""
        label = self.cluster.label
        return label if len(label) <= MAX_LABEL else f"…{label[1 - MAX_LABEL :]}"

    @property
    def half_width(self) -> float:
        return max(self.radius, LETTER * len(self.label) / 2) + GAP / 2

    @property
    def half_height(self) -> float:
        """Of the circle with its label; its middle is half a label below that of the circle."""
        return self.radius + (LABEL + GAP) / 2


class DrawnTie(Struct, frozen=True):
    """The links between two clusters, in both directions."""

    x1: float
    y1: float
    x2: float
    y2: float
    weight: float
    links: int
    ends: tuple[int, int]


class Drawing(Struct, frozen=True):
    circles: Sequence[Circle]
    lines: Sequence[DrawnTie]
    width: float = WIDTH
    height: float = HEIGHT


def draw(found: Clusters) -> Drawing:
    if not found.clusters:
        return Drawing((), ())
    circles = _begin(found.clusters)
    ties: dict[tuple[int, int], int] = {}
    for tie in found.ties:
        pair = (min(tie.source, tie.target), max(tie.source, tie.target))
        ties[pair] = ties.get(pair, 0) + tie.links
    most = max(ties.values(), default=1)
    pulls = {pair: 0.15 + 0.5 * sqrt(links / most) for pair, links in ties.items()}
    for pair in _kin(circles):
        pulls[pair] = pulls.get(pair, 0.0) + KINSHIP
    for turn in range(ROUNDS):
        _move(circles, pulls, heat=1 - turn / ROUNDS)
    _fit(circles)
    for _ in range(PARTINGS):
        if not _part(circles):
            break
    return Drawing(circles, [_to_line(circles, pair, links, most) for pair, links in ties.items()])


def _begin(clusters: Sequence[Cluster]) -> list[Circle]:
    """The largest in the middle, the others around it in a spiral."""
    most = max(cluster.pages for cluster in clusters)
    room = sqrt(WIDTH * HEIGHT / (len(clusters) * 7))
    largest = min(MAX_RADIUS, max(MIN_RADIUS * 2, room))
    circles: list[Circle] = []
    hues: dict[str, int] = {}
    for place, cluster in enumerate(clusters):
        away, turn = 46.0 * sqrt(place), place * GOLDEN
        radius = MIN_RADIUS + (largest - MIN_RADIUS) * sqrt(cluster.pages / most)
        x, y = WIDTH / 2 + away * cos(turn) * 1.4, HEIGHT / 2 + away * sin(turn)
        hue = hues.setdefault(cluster.family, len(hues)) % HUES
        circles.append(Circle(cluster, radius, x, y, hue))
    while sum(4 * one.half_width * one.half_height for one in circles) > MAX_SHARE * WIDTH * HEIGHT:
        for circle in circles:
            circle.radius *= SMALLER
    return circles


def _move(circles: list[Circle], pulls: dict[tuple[int, int], float], heat: float) -> None:
    """One round after Fruchterman and Reingold: all push each other away, ties pull."""
    space = sqrt(WIDTH * HEIGHT / len(circles)) * 0.75
    pushes = [[0.0, 0.0] for _ in circles]
    for one, circle in enumerate(circles):
        for two in range(one + 1, len(circles)):
            other = circles[two]
            across, down = circle.x - other.x, circle.y - other.y
            away = hypot(across, down) or 0.01
            force = space * space / away / away
            pushes[one][0] += across * force
            pushes[one][1] += down * force
            pushes[two][0] -= across * force
            pushes[two][1] -= down * force
    for (one, two), pull in pulls.items():
        across, down = circles[one].x - circles[two].x, circles[one].y - circles[two].y
        force = hypot(across, down) / space * pull
        for end, sign in ((one, -1), (two, 1)):
            pushes[end][0] += sign * across * force
            pushes[end][1] += sign * down * force
    for circle, (across, down) in zip(circles, pushes, strict=True):
        across += (WIDTH / 2 - circle.x) * 0.6
        down += (HEIGHT / 2 - circle.y) * 1.2
        far = hypot(across, down) or 0.01
        step = min(far, 60 * heat * heat + 1)
        circle.x += across / far * step
        circle.y += down / far * step


def _fit(circles: list[Circle]) -> None:
    """Stretch the picture to its frame."""
    for name, size, below in (("x", WIDTH, 0.0), ("y", HEIGHT, LABEL)):
        low = min(getattr(circle, name) - circle.radius for circle in circles)
        high = max(getattr(circle, name) + circle.radius for circle in circles)
        scale = (size - 2 * MARGIN - below) / max(high - low, 1.0)
        for circle in circles:
            middle = (getattr(circle, name) - low) * scale + MARGIN if len(circles) > 1 else size / 2
            setattr(circle, name, middle)


def _kin(circles: list[Circle]) -> Iterator[tuple[int, int]]:
    """Folders of one folder, each with the largest of them."""
    first: dict[str, int] = {}
    for place, circle in enumerate(circles):
        eldest = first.setdefault(circle.cluster.family, place)
        if eldest != place:
            yield eldest, place


def _part(circles: list[Circle]) -> bool:
    """Move circles that touch apart, together with their labels, and keep all inside. False: none did."""
    has_moved = False
    for one, circle in enumerate(circles):
        for other in circles[one + 1 :]:
            across, down = circle.x - other.x, circle.y - other.y
            wide = circle.half_width + other.half_width - abs(across)
            high = circle.half_height + other.half_height - abs(down + circle.half_height - other.half_height)
            if wide <= 0 or high <= 0:
                continue
            has_moved = True
            if wide < high:
                shift = wide / 2 if across >= 0 else -wide / 2
                circle.x, other.x = circle.x + shift, other.x - shift
            else:
                shift = high / 2 if down >= 0 else -high / 2
                circle.y, other.y = circle.y + shift, other.y - shift
    for circle in circles:
        side, edge = circle.half_width + GAP, circle.radius + MARGIN
        circle.x = min(max(circle.x, side), WIDTH - side)
        circle.y = min(max(circle.y, edge), HEIGHT - edge - LABEL)
    return has_moved


def _to_line(circles: list[Circle], pair: tuple[int, int], links: int, most: int) -> DrawnTie:
    one, two = circles[pair[0]], circles[pair[1]]
    weight = MIN_WEIGHT + (MAX_WEIGHT - MIN_WEIGHT) * sqrt(links / most)
    return DrawnTie(one.x, one.y, two.x, two.y, weight, links, pair)
