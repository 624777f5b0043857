"""Status and redirects: whether the requested page is what comes."""

import re
from itertools import pairwise
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Subject
from gossamer.web.outcome.outcome import Outcome

_TEMPORARY: Final = frozenset({302, 303, 307})
_REFRESH: Final = re.compile(r"\s*+([0-9]*+)[0-9.]*+\s*+[;,]\s*+(?:url\s*+=\s*+)?\S", re.I)

check = CheckMaker[Subject](Theme.STATUS, "page")


@check(
    "status-ok",
    Severity.CRITICAL,
    title="The page does not answer with success",
    passed="The page answers with success",
    why="Search engines drop pages that answer with an error, and agents report them as missing.",
    fix="Let the page answer with status 200, or redirect to the page that took its place.",
    html=False,
)
def status_ok(subject: Subject) -> PageAnswer:
    status = subject.page.status
    return [] if 200 <= status < 300 else [f"status {status}"]


@check(
    "page-is-itself",
    Severity.CRITICAL,
    title="Something else is shown in the page's place",
    passed="The page is the requested one",
    why="Robots take a challenge, a log-in, an error or a parking page with status 200 for the page itself.",
    fix="Let robots through to the page itself, and let a missing page answer with status 404.",
    html=False,
)
def page_is_itself(subject: Subject) -> PageAnswer:
    judgement = subject.reading.judgement
    if not 200 <= subject.page.status < 300 or judgement.outcome in (Outcome.OK, Outcome.EMPTY):
        return []  # errors and empty pages have checks of their own
    return [": ".join(filter(None, (judgement.outcome, judgement.reason, judgement.sign)))]


@check(
    "redirect-chain",
    Severity.MODERATE,
    title="Several redirects lead to the page",
    passed="At most one redirect leads to the page",
    why="Every redirect costs a round trip, and robots give up on long chains.",
    fix="Redirect the first address to the last one directly.",
    html=False,
)
def redirect_chain(subject: Subject) -> PageAnswer:
    hops = subject.page.redirects
    return [f"{hop.status} {hop.url}" for hop in hops] if len(hops) > 1 else []


@check(
    "redirect-temporary",
    Severity.MINOR,
    title="A temporary redirect leads to the page",
    passed="Redirects are permanent",
    why="A temporary redirect says that the old address is still the right one, so it stays in the index.",
    fix="If the move is for good, answer with 301 or 308.",
    html=False,
)
def redirect_temporary(subject: Subject) -> PageAnswer:
    hops = subject.page.redirects
    if not hops:
        return page_has_no("redirects")
    return [f"{hop.status} {hop.url}" for hop in hops if hop.status in _TEMPORARY]


@check(
    "redirect-insecure",
    Severity.SERIOUS,
    title="A redirect leads from https to http",
    passed="No redirect gives up encryption",
    why="Anyone on the network between the reader and the server can read and change the rest of the visit.",
    fix="Redirect to the https address.",
    html=False,
)
def redirect_insecure(subject: Subject) -> PageAnswer:
    if not subject.page.redirects:
        return page_has_no("redirects")
    steps = [hop.url for hop in subject.page.redirects] + [subject.url]
    return [
        f"{before} → {after}"
        for before, after in pairwise(steps)
        if before.startswith("https:") and after.startswith("http:")
    ]


@check(
    "meta-refresh",
    Severity.MODERATE,
    title="The page sends its readers on by a meta tag",
    passed="No meta tag sends readers on",
    why="Such a redirect is slow, breaks the back button, and is not followed by every robot.",
    fix="Redirect with status 301 or 308 instead.",
)
def meta_refresh(subject: Subject) -> PageAnswer:
    values = subject.metas.get("http-equiv:refresh", ())
    return [f"refresh: {value}" for value in values if _REFRESH.match(value)]


CHECKS: Final = (
    status_ok,
    page_is_itself,
    redirect_chain,
    redirect_temporary,
    redirect_insecure,
    meta_refresh,
)
