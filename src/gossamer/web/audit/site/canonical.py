"""The canonical addresses that pages name, and what is there."""

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from gossamer.web.audit.check import CheckMaker, Hit, Severity, SiteAnswer, Theme, site_has_no
from gossamer.web.audit.site.site import Site, SitePage, hits_for_groups

check = CheckMaker[Site](Theme.CANONICAL, "site")


@check(
    "canonical-dead",
    Severity.SERIOUS,
    title="Pages give way to addresses that are not there",
    passed="Every canonical address is there",
    why="Neither the page nor its replacement can be found.",
    fix="Name an address that answers with success, most often the page's own.",
)
def canonical_dead(site: Site) -> SiteAnswer:
    return _targets(site, lambda target: target.is_broken, lambda target: target.status_text)


@check(
    "canonical-redirects",
    Severity.MODERATE,
    title="Pages give way to addresses that redirect",
    passed="No canonical address redirects",
    why="A canonical address is the one to be shown; one that redirects is not.",
    fix="Name the address that the redirect leads to.",
)
def canonical_redirects(site: Site) -> SiteAnswer:
    return _targets(
        site,
        lambda target: target.is_redirected and target.is_good,
        lambda target: f"leads to {site.shorten(target.final_url)}",
    )


@check(
    "canonical-chain",
    Severity.MODERATE,
    title="Pages give way to pages that give way to others",
    passed="Every canonical address is a last one",
    why="Search engines may follow none of them and choose by themselves.",
    fix="Name the last address on all of these pages.",
)
def canonical_chain(site: Site) -> SiteAnswer:
    return _targets(
        site,
        lambda target: target.is_good and not target.is_redirected and not target.is_canonical,
        lambda target: f"canonical: {site.shorten(target.canonical)}",
    )


@check(
    "canonical-hidden",
    Severity.SERIOUS,
    title="Pages give way to pages that must not be indexed",
    passed="Every canonical address may be indexed",
    why="The page steps back for one that stays out of the index, so neither is found.",
    fix="Remove the `noindex` of the one, or the canonical address of the other.",
)
def canonical_hidden(site: Site) -> SiteAnswer:
    return _targets(
        site,
        lambda target: target.blocked or (target.is_good and target.noindex),
        lambda target: "closed by robots.txt" if target.blocked else "noindex",
    )


@check(
    "canonical-one-for-all",
    Severity.SERIOUS,
    title="Different pages name the same address as theirs",
    passed="Pages that give way say the same as the page they give way to",
    why="Search engines leave out all but one, though each says something different.",
    fix="Let every page that is not a copy name its own address.",
)
def canonical_one_for_all(site: Site) -> SiteAnswer:
    if not any(page.canonical for page in site.documents):
        return site_has_no("canonical addresses")
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for page in site.documents:
        if page.canonical and page.content_hash and not page.is_canonical:
            texts[page.canonical].setdefault(page.content_hash, page.final_url)
    titles = {page.final_url: page.title.casefold() for page in site.documents}
    groups = {
        url: [one for one in pages.values() if titles[one] != titles.get(url, "")]
        for url, pages in texts.items()
    }
    return hits_for_groups(groups, lambda url, count: f"{count:,} pages give way to {site.shorten(url)}")


@check(
    "canonical-disagree",
    Severity.MODERATE,
    title="Copies of a page name different addresses as theirs",
    passed="Copies of a page agree on its address",
    why="It is left to chance which of them is shown.",
    fix="Name the same address on all of them.",
)
def canonical_disagree(site: Site) -> SiteAnswer:
    copies: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for page in site.documents:
        if page.content_hash and page.canonical:
            copies[page.content_hash][page.canonical].append(page.final_url)
    if not copies:
        return site_has_no("canonical addresses")
    return [
        Hit(
            " and ".join(site.shorten(url) for url in named),
            tuple(url for urls in named.values() for url in urls),
        )
        for named in copies.values()
        if len(named) > 1
    ]


def _targets(
    site: Site, wrong: Callable[[SitePage], bool], describe: Callable[[SitePage], str]
) -> SiteAnswer:
    """A hit for each canonical address that other pages name."""
    groups: dict[str, list[str]] = defaultdict(list)
    for page in site.documents:
        if not page.is_canonical:
            groups[page.canonical].append(page.final_url)
    if not groups:
        return site_has_no("pages that give way to others")
    return [
        Hit(f"{site.shorten(url)} ({describe(target)})", tuple(urls))
        for url, urls in groups.items()
        if (target := site.at.get(url)) and wrong(target)
    ]


CHECKS: Final = (
    canonical_dead,
    canonical_redirects,
    canonical_chain,
    canonical_hidden,
    canonical_one_for_all,
    canonical_disagree,
)
