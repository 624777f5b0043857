"""Versions of pages in other languages, and whether they name each other."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final

from gossamer.web.audit.check import CheckMaker, Hit, Severity, SiteAnswer, Theme, site_has_no
from gossamer.web.audit.site.site import Site, SitePage

NONE: Final = site_has_no("versions in other languages")

check = CheckMaker[Site](Theme.LANGUAGES, "site")


@check(
    "hreflang-one-way",
    Severity.MODERATE,
    title="Language versions do not name each other",
    passed="Language versions name each other",
    why="Search engines ignore a version that does not point back.",
    fix="Put the same list of versions on every one of them.",
)
def hreflang_one_way(site: Site) -> SiteAnswer:
    versions = list(_versions(site))
    if not versions:
        return NONE
    return [
        Hit(
            f"{code}: {site.shorten(there.final_url)} does not name {site.shorten(page.final_url)}",
            (there.final_url,),
        )
        for page, code, there in versions
        if there.is_good and there.is_html and page.final_url not in {other.url for other in there.versions}
    ]


@check(
    "hreflang-dead",
    Severity.SERIOUS,
    title="Language versions are not there",
    passed="Every language version is there",
    why="Readers of that language are sent to an error.",
    fix="Correct the address, or leave the version out.",
)
def hreflang_dead(site: Site) -> SiteAnswer:
    return _find_wrong(site, lambda page: page.is_broken, lambda page: page.status_text)


@check(
    "hreflang-not-shown",
    Severity.MODERATE,
    title="Language versions are not the addresses that are to be shown",
    passed="Every language version is an address that is to be shown",
    why="A version that redirects, gives way to another or must not be indexed is ignored.",
    fix="Name the canonical addresses of the versions.",
)
def hreflang_not_shown(site: Site) -> SiteAnswer:
    return _find_wrong(
        site,
        lambda page: page.is_good and (page.is_redirected or not page.is_canonical or page.noindex),
        lambda page: (
            "redirects" if page.is_redirected else "noindex" if page.noindex else "not its canonical address"
        ),
    )


@check(
    "hreflang-disagree",
    Severity.MODERATE,
    title="A page is named as the version of different languages",
    passed="Every version is named with one language",
    why="It is left to chance which readers see it.",
    fix="Give the page the same code wherever it is named.",
)
def hreflang_disagree(site: Site) -> SiteAnswer:
    codes: dict[str, set[str]] = defaultdict(set)
    for page in site.documents:
        for code, url in page.versions:
            if code.lower() != "x-default":
                codes[url].add(code.lower())
    if not codes:
        return NONE
    return [
        Hit(f"{site.shorten(url)}: {', '.join(sorted(names))}", (url,))
        for url, names in codes.items()
        if len({name.partition("-")[0] for name in names}) > 1
    ]


def _find_wrong(
    site: Site, wrong: Callable[[SitePage], bool], describe: Callable[[SitePage], str]
) -> SiteAnswer:
    found: dict[str, list[str]] = defaultdict(list)
    versions = list(_versions(site))
    if not versions:
        return NONE
    for page, code, there in versions:
        if wrong(there):
            found[f"{code}: {site.shorten(there.url)} ({describe(there)})"].append(page.final_url)
    return [Hit(text, tuple(urls)) for text, urls in found.items()]


def _versions(site: Site) -> Iterator[tuple[SitePage, str, SitePage]]:
    """Every page, with each of its other versions that the crawl knows."""
    for page in site.documents:
        for code, url in page.versions:
            there = site.at.get(url)
            if there is not None and url != page.final_url:
                yield page, code, there


CHECKS: Final = (hreflang_one_way, hreflang_dead, hreflang_not_shown, hreflang_disagree)
