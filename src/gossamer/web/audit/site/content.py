"""Content that has several addresses."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from gossamer.web.audit.check import CheckMaker, Hit, Severity, SiteAnswer, Theme, site_has_no
from gossamer.web.audit.site.site import Site, SitePage, hits_for_groups
from gossamer.web.crawl.fingerprint import Neighbours

THIN: Final = 50  # words; short texts are alike by chance
THIN_PAGE: Final = 100  # words
MANY_THIN: Final = 0.2  # of the pages

check = CheckMaker[Site](Theme.CONTENT, "site")


@check(
    "content-shared",
    Severity.SERIOUS,
    title="The same text stands at several addresses",
    passed="Every text has one address",
    why="Search engines choose one of them, perhaps the wrong one, and waste visits on the others.",
    fix="Redirect to one address, or name it with `<link rel=canonical>` on all of them.",
)
def content_shared(site: Site) -> SiteAnswer:
    groups: dict[str, list[str]] = defaultdict(list)
    for page in _texts(site):
        groups[page.content_hash].append(page.final_url)
    if not groups:
        return site_has_no("text")
    return hits_for_groups(groups, lambda _, count: f"one text at {count:,} addresses")


@check(
    "content-alike",
    Severity.MODERATE,
    title="Pages are almost the same",
    passed="No two pages are almost the same",
    why="They compete with each other for the same searches, and none of them stands out.",
    fix="Join them, or say on each what the others do not.",
)
def content_alike(site: Site) -> SiteAnswer:
    pages = [page for page in _texts(site) if page.fingerprint and (page.words or THIN) >= THIN]
    if not pages:
        return site_has_no("text that is long enough to compare")
    return [
        Hit(
            f"{len(group):,} pages like {site.shorten(group[0].final_url)}", tuple(p.final_url for p in group)
        )
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
        return site_has_no("pages whose words were counted")
    thin = [page.final_url for page in counted if (page.words or 0) < THIN_PAGE]
    if len(thin) <= MANY_THIN * len(counted):
        return []
    return [Hit(f"{len(thin):,} of {len(counted):,} pages have less than {THIN_PAGE} words", tuple(thin))]


def _texts(site: Site) -> list[SitePage]:
    return [page for page in site.indexable if page.content_hash]


def _clusters(pages: list[SitePage]) -> Iterable[list[SitePage]]:
    """Groups of pages that resemble each other. Identical texts count once: another check finds them."""
    one_each = {page.content_hash: page for page in pages}
    above = {name: name for name in one_each}

    def root(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    known = Neighbours(len(one_each))
    for name, page in one_each.items():
        for other in known.near(page.fingerprint):
            above[root(name)] = root(other)
        known.add(page.fingerprint, name)
    groups: dict[str, list[SitePage]] = defaultdict(list)
    for name, page in one_each.items():
        groups[root(name)].append(page)
    return sorted((group for group in groups.values() if len(group) > 1), key=len, reverse=True)


CHECKS: Final = (content_shared, content_alike, content_thin_often)
