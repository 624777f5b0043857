"""Content that stands at several addresses."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from gossamer.web.checks.rule import Severity, Theme
from gossamer.web.simhash import NEAR, distance
from gossamer.web.site_checks.rule import Asking, Hit, SiteAnswer, nothing, shared
from gossamer.web.site_checks.site import Site, SitePage

THIN: Final = 50  # words; short texts are alike by chance
THIN_PAGE: Final = 100  # words
MANY_THIN: Final = 0.2  # of the pages
_BANDS: Final = NEAR + 1  # if so few bits differ, one of so many parts is the same
_BAND_BITS: Final = 64 // _BANDS

check = Asking(Theme.CONTENT)


@check(
    "content-shared",
    Severity.SERIOUS,
    title="The same text stands at several addresses",
    passed="Every text has one address",
    why="Search engines choose one of them, perhaps the wrong one, and read the others in vain.",
    fix="Redirect to one address, or name it with `<link rel=canonical>` on all of them.",
)
def content_shared(site: Site) -> SiteAnswer:
    groups: dict[str, list[str]] = defaultdict(list)
    for page in _texts(site):
        groups[page.content_hash].append(page.final_url)
    if not groups:
        return nothing("text")
    return shared(groups, lambda _, count: f"one text at {count:,} addresses")


@check(
    "content-alike",
    Severity.MODERATE,
    title="Pages are almost the same",
    passed="No two pages are almost the same",
    why="They compete with each other for the same searches, and none of them stands out.",
    fix="Join them, or say on each what the others do not.",
)
def content_alike(site: Site) -> SiteAnswer:
    pages = [page for page in _texts(site) if page.simhash and (page.words or THIN) >= THIN]
    if not pages:
        return nothing("text that is long enough to compare")
    return [
        Hit(f"{len(group):,} pages like {site.shown(group[0].final_url)}", tuple(p.final_url for p in group))
        for group in _clusters(pages)
    ]


@check(
    "content-thin-often",
    Severity.MODERATE,
    title="Many pages say very little",
    passed="Few pages say very little",
    why="A site of many empty pages is read less often and trusted less, its good pages too.",
    fix="Join pages that belong together, and keep tags and archives that hold little out of the index.",
)
def content_thin_often(site: Site) -> SiteAnswer:
    counted = [page for page in site.indexable if page.words is not None]
    if not counted:
        return nothing("pages whose words were counted")
    thin = [page.final_url for page in counted if (page.words or 0) < THIN_PAGE]
    if len(thin) <= MANY_THIN * len(counted):
        return []
    return [Hit(f"{len(thin):,} of {len(counted):,} pages have less than {THIN_PAGE} words", tuple(thin))]


def _texts(site: Site) -> list[SitePage]:
    return [page for page in site.indexable if page.content_hash]


def _clusters(pages: list[SitePage]) -> Iterable[list[SitePage]]:
    """Pages that are alike, or alike to others of the group; the same text counts once, and not here."""
    one_each = list({page.content_hash: page for page in pages}.values())
    above = list(range(len(one_each)))

    def root(at: int) -> int:
        while above[at] != at:
            above[at] = at = above[above[at]]
        return at

    for one, other in _near(one_each):
        above[root(other)] = root(one)
    groups: dict[int, list[SitePage]] = defaultdict(list)
    for at, page in enumerate(one_each):
        groups[root(at)].append(page)
    return sorted((group for group in groups.values() if len(group) > 1), key=len, reverse=True)


def _near(pages: list[SitePage]) -> Iterable[tuple[int, int]]:
    sums = [page.simhash for page in pages]
    for band in range(_BANDS):
        alike: dict[int, list[int]] = defaultdict(list)
        for at, value in enumerate(sums):
            alike[value >> band * _BAND_BITS & (1 << _BAND_BITS) - 1].append(at)
        for group in alike.values():
            for at, other in _pairs(group):
                if distance(sums[at], sums[other]) <= NEAR:
                    yield at, other


def _pairs(group: list[int], most: int = 200) -> Iterable[tuple[int, int]]:
    """Each with the few that follow it: who is alike is alike in several parts, and found again."""
    for place, at in enumerate(group):
        for other in group[place + 1 : place + 1 + most]:
            yield at, other


CHECKS: Final = (content_shared, content_alike, content_thin_often)
