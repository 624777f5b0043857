"""Robots and sitemap: what search engines may read, and where they learn of pages."""

from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, not_fetched, page_has_no
from gossamer.web.audit.page.subject import Subject
from gossamer.web.robots.robots import MAX_ROBOTS_BYTES

SEARCH_ENGINES: Final = ("Googlebot", "Bingbot", "DuckDuckBot", "YandexBot", "Baiduspider")
_ROBOTS: Final = "robots.txt"

check = CheckMaker[Subject](Theme.ROBOTS, "page")


@check(
    "noindex",
    Severity.CRITICAL,
    title="The page asks not to be indexed",
    passed="The page may be indexed",
    why="It does not appear in search results, however good it is.",
    fix="If it should be found, remove `noindex` from the robots meta tag and the `X-Robots-Tag` header.",
    html=False,
)
def noindex(subject: Subject) -> PageAnswer:
    return [f"{one.name} in the {one.where}" for one in subject.asks("noindex")]


@check(
    "nofollow-page",
    Severity.MODERATE,
    title="The page asks that none of its links be followed",
    passed="The links of the page may be followed",
    why="Search engines do not find its targets through it, including the rest of the site.",
    fix="Remove `nofollow` from the robots rules, and set it on single links where it is meant.",
    html=False,
)
def nofollow_page(subject: Subject) -> PageAnswer:
    return [f"{one.name} in the {one.where}" for one in subject.asks("nofollow")]


@check(
    "snippet-forbidden",
    Severity.MODERATE,
    title="The page forbids that its text be shown in results",
    passed="The text of the page may be shown in results",
    why="Results without a snippet are passed over, and answers by AI search do not quote the page.",
    fix="Remove `nosnippet` or `max-snippet:0` if the page should be quoted.",
    html=False,
)
def snippet_forbidden(subject: Subject) -> PageAnswer:
    return [f"{one.name} in the {one.where}" for one in subject.asks("nosnippet", "max-snippet:0")]


@check(
    "robots-disagree",
    Severity.MODERATE,
    title="The robots rules of the page contradict each other",
    passed="The robots rules of the page agree",
    why="The strictest rule wins, which is rarely the one that was meant.",
    fix="Say it once: in the meta tag or in the header.",
    html=False,
)
def robots_disagree(subject: Subject) -> PageAnswer:
    pairs = [("index", "noindex"), ("follow", "nofollow")]
    return [f"{yes} and {no}" for yes, no in pairs if subject.asks(yes) and subject.asks(no)]


@check(
    "robots-blocked",
    Severity.CRITICAL,
    title="robots.txt keeps search engines from the page",
    passed="robots.txt lets search engines read the page",
    why="Search engines can list such a page by its address at best, without title and text.",
    fix="Allow the path in `robots.txt` for the search engines that should find it.",
    html=False,
)
def robots_blocked(subject: Subject) -> PageAnswer:
    if subject.rules is None:
        return not_fetched(_ROBOTS)
    return [
        f"{agent} is disallowed"
        for agent in SEARCH_ENGINES
        if not subject.rules.is_allowed(agent, subject.url)
    ]


@check(
    "robots-hides-noindex",
    Severity.MODERATE,
    title="robots.txt hides the page's wish not to be indexed",
    passed="Robots can read the page's own rules",
    why="A robot that may not fetch the page never sees `noindex`, so the bare address can stay listed.",
    fix="Allow the page in `robots.txt` until it has left the index.",
    html=False,
)
def robots_hides_noindex(subject: Subject) -> PageAnswer:
    if subject.rules is None:
        return not_fetched(_ROBOTS)
    if not subject.noindex:
        return page_has_no("wish not to be indexed")
    return [] if subject.rules.is_allowed("Googlebot", subject.url) else ["noindex on a disallowed page"]


@check(
    "robots-missing",
    Severity.MINOR,
    title="There is no robots.txt",
    passed="There is a robots.txt",
    why="Without one everything is allowed, the sitemap has to be guessed, and every robot's visit logs "
    "an error.",
    fix="Put a `robots.txt` at the root of the site that names the sitemap.",
    html=False,
)
def robots_missing(subject: Subject) -> PageAnswer:
    if subject.robots is None:
        return not_fetched(_ROBOTS)
    status = subject.robots.status
    absent = status is not None and 300 <= status < 500
    return [f"{subject.robots.url} answers with {status}"] if absent else []


@check(
    "robots-failing",
    Severity.CRITICAL,
    title="robots.txt fails",
    passed="robots.txt does not fail",
    why="While it cannot be read because of the server, robots must take everything as forbidden (RFC 9309).",
    fix="Let `robots.txt` answer with 200, or with 404 if there is none.",
    html=False,
)
def robots_failing(subject: Subject) -> PageAnswer:
    if subject.robots is None:
        return not_fetched(_ROBOTS)
    status = subject.robots.status
    failing = status is None or status >= 500
    return [f"{subject.robots.url}: {status or 'no answer'}"] if failing else []


@check(
    "robots-syntax",
    Severity.MINOR,
    title="robots.txt has lines that no robot understands",
    passed="Every line of robots.txt is understood",
    why="Robots skip lines that they do not understand, so these rules have no effect.",
    fix="Use `User-agent`, `Allow`, `Disallow` and `Sitemap`, one to a line, with a colon.",
    html=False,
)
def robots_syntax(subject: Subject) -> PageAnswer:
    if subject.robots is None or subject.rules is None:
        return not_fetched(_ROBOTS)
    if not subject.robots.exists:
        return page_has_no(_ROBOTS)
    if "html" in subject.robots.media_type or subject.robots.text.lstrip()[:1] == "<":
        return ["it is an HTML page"]
    cut = [f"it is longer than {MAX_ROBOTS_BYTES // 1024} KiB"] if subject.rules.cut else []
    return [*cut, *subject.rules.unknown]


@check(
    "sitemap-missing",
    Severity.MINOR,
    title="No sitemap was found",
    passed="There is a sitemap",
    why="A sitemap is how new and changed pages are found without waiting for a link to them.",
    fix="Publish `/sitemap.xml` with the addresses of all pages worth finding.",
    html=False,
)
def sitemap_missing(subject: Subject) -> PageAnswer:
    if subject.sitemap is None:
        return not_fetched("The sitemap")
    return [] if subject.sitemap.found else [f"nothing at {subject.sitemap.url or 'the usual addresses'}"]


@check(
    "sitemap-invalid",
    Severity.MODERATE,
    title="The sitemap cannot be read",
    passed="The sitemap can be read",
    why="Search engines drop a sitemap with errors as a whole.",
    fix="Let it be well-formed XML by the sitemaps protocol, with at least one address.",
    html=False,
)
def sitemap_invalid(subject: Subject) -> PageAnswer:
    if subject.sitemap is None:
        return not_fetched("The sitemap")
    if not subject.sitemap.found:
        return page_has_no("sitemap")
    if subject.sitemap.problem:
        return [f"{subject.sitemap.url}: {subject.sitemap.problem}"]
    return [] if subject.sitemap.entries else [f"{subject.sitemap.url} is empty"]


@check(
    "sitemap-unnamed",
    Severity.MINOR,
    title="robots.txt does not name the sitemap",
    passed="robots.txt names the sitemap",
    why="Only `robots.txt` tells every robot where the sitemap is.",
    fix="Add `Sitemap: https://…/sitemap.xml` to `robots.txt`.",
    html=False,
)
def sitemap_unnamed(subject: Subject) -> PageAnswer:
    if subject.robots is None or subject.rules is None:
        return not_fetched(_ROBOTS)
    if not subject.robots.exists:
        return page_has_no(_ROBOTS)
    return [] if subject.rules.sitemaps else ["no Sitemap line"]


@check(
    "sitemap-omits-page",
    Severity.MINOR,
    title="The sitemap does not list the page",
    passed="The sitemap lists the page",
    why="Pages that are in no sitemap are found later and visited less often.",
    fix="Add the page's canonical address to the sitemap.",
    html=False,
)
def sitemap_omits_page(subject: Subject) -> PageAnswer:
    if subject.sitemap is None or (subject.sitemap.found and subject.sitemap.lists_page is None):
        return not_fetched("The sitemap")
    if not subject.sitemap.found or subject.noindex:
        return page_has_no("sitemap that should list it")
    return [] if subject.sitemap.lists_page else [f"not in {subject.sitemap.url}"]


CHECKS: Final = (
    noindex,
    nofollow_page,
    snippet_forbidden,
    robots_disagree,
    robots_blocked,
    robots_hides_noindex,
    robots_missing,
    robots_failing,
    robots_syntax,
    sitemap_missing,
    sitemap_invalid,
    sitemap_unnamed,
    sitemap_omits_page,
)
