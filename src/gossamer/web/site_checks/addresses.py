"""Addresses that mean the same page, and addresses without end."""

from collections import defaultdict
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from gossamer.web.checks.rule import Severity, Theme
from gossamer.web.site_checks.rule import Asking, Hit, SiteAnswer, nothing, shared
from gossamer.web.site_checks.site import Site

MANY_QUERIES: Final = 50  # of one path
_INDEXES: Final = ("index.html", "index.htm", "index.php", "default.aspx", "default.asp", "default.htm")

check = Asking(Theme.ADDRESS)


@check(
    "addresses-slash",
    Severity.MODERATE,
    title="Pages answer with and without a slash at the end",
    passed="Every page answers with or without a slash at the end, not both",
    why="Both addresses are read, linked and counted apart.",
    fix="Redirect one of them to the other, and link to that one.",
)
def addresses_slash(site: Site) -> SiteAnswer:
    return _twins(site, lambda path: path.rstrip("/"))


@check(
    "addresses-case",
    Severity.MODERATE,
    title="Pages answer in capitals and in small letters",
    passed="No page answers in capitals and in small letters",
    why="Addresses that differ in case are different pages to robots.",
    fix="Redirect to the form in small letters, and link to that one.",
)
def addresses_case(site: Site) -> SiteAnswer:
    return _twins(site, str.lower)


@check(
    "addresses-index",
    Severity.MODERATE,
    title="Folders answer with and without the name of their file",
    passed="No folder answers with and without the name of its file",
    why="`/` and `/index.html` are two addresses of one page.",
    fix="Redirect the one with the file's name, and link to the folder.",
)
def addresses_index(site: Site) -> SiteAnswer:
    return _twins(site, _folder)


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
        return nothing("addresses with parameters")
    return [
        Hit(f"{len(urls):,} addresses of {site.shown(path)}", tuple(urls))
        for path, urls in paths.items()
        if len(urls) > MANY_QUERIES
    ]


def _twins(site: Site, smoothed: Callable[[str], str]) -> SiteAnswer:
    """Different addresses that are one when smoothed, of pages that both want to be found."""
    if not site.indexable:
        return nothing("pages that may be found")
    groups: dict[str, list[str]] = defaultdict(list)
    for page in site.indexable:
        parts = urlsplit(page.final_url)
        groups[parts._replace(path=smoothed(parts.path)).geturl()].append(page.final_url)
    return shared(groups, lambda _, count: f"{count} addresses that differ in nothing else")


def _folder(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}" if name.lower() in _INDEXES else path


CHECKS: Final = (addresses_slash, addresses_case, addresses_index, addresses_endless)
