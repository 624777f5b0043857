"""Canonical: which of several addresses is the page's own."""

from typing import Final
from urllib.parse import urldefrag

from gossamer.problems import Problem
from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, not_fetched, page_has_no
from gossamer.web.audit.page.subject import Subject, split
from gossamer.web.url.url import Url, audit_form

_SCHEMES: Final = ("http://", "https://")

check = CheckMaker[Subject](Theme.CANONICAL, "page")


@check(
    "canonical-missing",
    Severity.MINOR,
    title="The page does not say which address is its own",
    passed="The page says which address is its own",
    why="The same page under several addresses (with parameters, with and without slash) competes with "
    "itself.",
    fix='Add `<link rel="canonical" href="https://…">` with the full address of this page.',
)
def canonical_missing(subject: Subject) -> PageAnswer:
    return [] if subject.canonicals else ["neither a link element nor a Link header"]


@check(
    "canonical-several",
    Severity.SERIOUS,
    title="The page names several canonical addresses",
    passed="The page names no second canonical address",
    why="Search engines ignore all of them when they disagree.",
    fix="Name one, in one place.",
)
def canonical_several(subject: Subject) -> PageAnswer:
    urls = dict.fromkeys(one.url or one.reference for one in subject.canonicals)
    return list(urls) if len(urls) > 1 else []


@check(
    "canonical-in-body",
    Severity.SERIOUS,
    title="The canonical address is not in the head",
    passed="The canonical address is in the head",
    why="Outside the head it is ignored. Often an element that does not belong there has ended the head "
    "early.",
    fix="Move it into the head, above anything that is not metadata.",
)
def canonical_in_body(subject: Subject) -> PageAnswer:
    if not subject.canonicals:
        return page_has_no("canonical address")
    return [one.reference for one in subject.canonicals if one.where == "body"]


@check(
    "canonical-relative",
    Severity.MINOR,
    title="The canonical address is relative",
    passed="The canonical address is absolute",
    why="On a copy of the site, or under another scheme, it names the copy.",
    fix="Write the address in full, with https.",
)
def canonical_relative(subject: Subject) -> PageAnswer:
    if not subject.canonicals:
        return page_has_no("canonical address")
    references = [one.reference for one in subject.canonicals]
    return [one for one in references if one and not split(one).scheme]


@check(
    "canonical-invalid",
    Severity.MODERATE,
    title="The canonical address is not one that can be fetched",
    passed="The canonical address can be fetched",
    why="It is ignored, as if there were none.",
    fix="Write a full http or https address without a fragment.",
)
def canonical_invalid(subject: Subject) -> PageAnswer:
    if not subject.canonicals:
        return page_has_no("canonical address")
    return [
        one.reference or "it is empty"
        for one in subject.canonicals
        if not one.url.startswith(_SCHEMES) or urldefrag(one.url).fragment
    ]


@check(
    "canonical-elsewhere",
    Severity.MODERATE,
    title="The page says that another one is the original",
    passed="The canonical address is the page's own",
    why="Search engines show the other page instead of this one. That is right for copies, and only for "
    "them.",
    fix="If this page is the original, name its own address.",
)
def canonical_elsewhere(subject: Subject) -> PageAnswer:
    if not subject.canonical:
        return page_has_no("canonical address")
    if _form(subject.canonical) in (_form(subject.url), _form(_other_scheme(subject.url))):
        return []
    return [f"{subject.url} → {subject.canonical}"]


@check(
    "canonical-insecure",
    Severity.SERIOUS,
    title="The canonical address of an https page is http",
    passed="The canonical address keeps https",
    why="It asks search engines to list the unencrypted address.",
    fix="Write https in the canonical address.",
)
def canonical_insecure(subject: Subject) -> PageAnswer:
    if not subject.canonical:
        return page_has_no("canonical address")
    insecure = subject.parts.scheme == "https" and subject.canonical.startswith("http:")
    return [subject.canonical] if insecure else []


@check(
    "canonical-unreachable",
    Severity.SERIOUS,
    title="The canonical address does not answer with success",
    passed="The canonical address answers with success",
    why="It sends search engines from a page that works to one that does not.",
    fix="Name an address that answers with status 200, without a redirect.",
)
def canonical_unreachable(subject: Subject) -> PageAnswer:
    if not subject.canonical:
        return page_has_no("canonical address")
    if _form(subject.canonical) == _form(subject.url):
        return [] if 200 <= subject.page.status < 300 else [f"{subject.canonical} ({subject.page.status})"]
    checked = [one for one in subject.links or () if _form(one.url) == _form(subject.canonical)]
    if not checked:
        return not_fetched("The canonical address")
    return [str(one) for one in checked if one.status is None or not 200 <= one.status < 300]


@check(
    "canonical-og-url",
    Severity.MINOR,
    title="The address for sharing is not the canonical one",
    passed="The address for sharing is the canonical one",
    why="Likes and links are counted for one address and rankings for another.",
    fix="Write the same address into `og:url` and the canonical link.",
)
def canonical_og_url(subject: Subject) -> PageAnswer:
    shared = subject.addresses.absolute(subject.meta("og:url"))
    if not subject.canonical or not shared:
        return page_has_no("pair of canonical address and `og:url`")
    same = _form(shared) == _form(subject.canonical)
    return [] if same else [f"og:url: {shared}", f"canonical: {subject.canonical}"]


@check(
    "canonical-noindex",
    Severity.MODERATE,
    title="The page names another as the original and forbids indexing",
    passed="The canonical address and the robots rules agree",
    why="One says to count this page for the other, the other says to forget it. The other may be "
    "forgotten too.",
    fix="Choose: a canonical address for copies, `noindex` for pages that should not be found.",
)
def canonical_noindex(subject: Subject) -> PageAnswer:
    if not subject.canonical:
        return page_has_no("canonical address")
    if not subject.noindex or _form(subject.canonical) == _form(subject.url):
        return []
    return [f"noindex, and canonical: {subject.canonical}"]


def _form(url: str) -> str:
    try:
        return audit_form(Url.parse(url))
    except Problem:
        return url


def _other_scheme(url: str) -> str:
    scheme, _, rest = url.partition(":")
    return f"{'http' if scheme == 'https' else 'https'}:{rest}"


CHECKS: Final = (
    canonical_missing,
    canonical_several,
    canonical_in_body,
    canonical_relative,
    canonical_invalid,
    canonical_elsewhere,
    canonical_insecure,
    canonical_unreachable,
    canonical_og_url,
    canonical_noindex,
)
