"""Several addresses of one page, and endless addresses."""

from collections import defaultdict
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from gossamer.web.audit.check import CheckMaker, Hit, Severity, SiteAnswer, Theme, site_has_no
from gossamer.web.audit.site.site import Site, hits_for_groups

MANY_QUERIES: Final = 50  # of one path
_INDEXES: Final = ("index.html", "index.htm", "index.php", "default.aspx", "default.asp", "default.htm")

check = CheckMaker[Site](Theme.ADDRESS, "site")


@check(
    "addresses-slash",
    Severity.MODERATE,
    title="Pages answer with and without a slash at the end",
    passed="Every page answers with or without a slash at the end, not both",
    why="Both addresses are read, linked and counted apart.",
    fix="Redirect one of them to the other, and link to that one.",
)
def addresses_slash(site: Site) -> SiteAnswer:
    return _find_twins(site, lambda path: path.rstrip("/"))


@check(
    "addresses-case",
    Severity.MODERATE,
    title="Pages answer in capitals and in small letters",
    passed="No page answers in capitals and in small letters",
    why="Addresses that differ in case are different pages to robots.",
    fix="Redirect to the form in small letters, and link to that one.",
)
def addresses_case(site: Site) -> SiteAnswer:
    return _find_twins(site, str.lower)


@check(
    "addresses-index",
    Severity.MODERATE,
    title="Folders answer with and without the name of their file",
    passed="No folder answers with and without the name of its file",
    why="`/` and `/index.html` are two addresses of one page.",
    fix="Redirect the one with the file's name, and link to the folder.",
)
def addresses_index(site: Site) -> SiteAnswer:
    return _find_twins(site, _folder)


@check(
    "addresses-endless",
    Severity.MODERATE,
    title="A page has very many addresses that differ in their parameters",
    passed="No page has very many addresses that differ in their parameters",
    why="Filters, calendars and sessions make addresses without end; robots spend their time there.",
    fix="Keep such links from robots, or name one canonical address for all of them.",
)
def addresses_endless(site: Site) -> SiteAnswer:
    paths: dict[str, list[str]] = defaultdict(list)
    for page in site.pages:
        path, question, _ = page.url.partition("?")
        if question and site.is_inside(page.url):
            paths[path].append(page.url)
    if not paths:
        return site_has_no("addresses with parameters")
    return [
        Hit(f"{len(urls):,} addresses of {site.shorten(path)}", tuple(urls))
        for path, urls in paths.items()
        if len(urls) > MANY_QUERIES
    ]


def _find_twins(site: Site, simplify: Callable[[str], str]) -> SiteAnswer:
    """Indexable pages whose addresses differ only in what `simplify` removes."""
    if not site.indexable:
        return site_has_no("pages that may be found")
    groups: dict[str, list[str]] = defaultdict(list)
    for page in site.indexable:
        parts = urlsplit(page.final_url)
        groups[parts._replace(path=simplify(parts.path)).geturl()].append(page.final_url)
    return hits_for_groups(groups, lambda _, count: f"{count} addresses that differ in nothing else")


def _folder(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}" if name.lower() in _INDEXES else path


CHECKS: Final = (addresses_slash, addresses_case, addresses_index, addresses_endless)
