"""Visits to pages of a crawl that is kept fresh: what was found is compared with what is stored.

Only another version of the page takes its place. A page that cannot be had for the moment, or that shows
something else, stays as it was.
"""

from typing import Final

from msgspec.structs import replace

from gossamer.flows.crawl.visiting.sitemap_reading import sitemap_visit
from gossamer.flows.crawl.visiting.visit import Visited, VisitEnd
from gossamer.state.crawl.refresh.fresh_pages import KnownPage, PageVisit
from gossamer.web.crawl.refresh.page_change import NOT_MODIFIED, PageChange, PageContentMark, compare
from gossamer.web.pages.fetch_spec import HeaderPairs
from gossamer.web.pages.page import Page

MAX_VALIDATOR_CHARS: Final = 500
_NONE: Final = PageContentMark(status=None)
# After these, what the page links to is known already, or is not to be believed.
_UNREAD: Final = frozenset(
    (
        PageChange.UNCHANGED,
        PageChange.NOT_MODIFIED,
        PageChange.NOISE,
        PageChange.MISSED,
        PageChange.GONE,
        PageChange.FAILED,
    )
)


def conditions_of(known: KnownPage | None) -> HeaderPairs:
    """The headers that ask for the page only if it is another one."""
    if known is None or not known.mark.is_good:
        return ()
    pairs = (("if-none-match", known.etag), ("if-modified-since", known.last_modified))
    return tuple((name, value) for name, value in pairs if value)


def note_visit(visited: Visited, randomness: float) -> None:
    """Decide what a visit means, and leave out what is not to be stored."""
    task, spec, answer = visited.task, visited.plan.spec, visited.answer
    visited.answer = None
    is_new = task.known is None
    if not spec.keeps_fresh or visited.end is VisitEnd.AGAIN:
        return
    if task.as_sitemap:
        _note_sitemap(visited, answer, randomness)
        return
    if is_new and visited.row is None:  # it is no page, or must not be fetched
        return
    change = _compare(visited, answer)
    etag, modified = _validators(change, answer)
    visited.visit = PageVisit(
        change=change,
        etag=etag,
        last_modified=modified,
        bytes=0 if answer is None else answer.wire_bytes or len(answer.body),
        least_ms=spec.refresh_least * 1_000,
        most_ms=spec.refresh_most * 1_000,
        randomness=randomness,
    )
    _leave_out(visited, change)


def _note_sitemap(visited: Visited, answer: Page | None, randomness: float) -> None:
    if visited.end is VisitEnd.BLOCKED:  # robots.txt forbids it
        return
    visit = sitemap_visit(visited, answer, randomness)
    if visit.change is PageChange.NEW:
        visited.visit = visit
        return
    etag, modified = _validators(visit.change, answer)
    visited.visit = replace(visit, etag=etag, last_modified=modified)
    if visited.plan.crawl.counts.pages >= visited.plan.spec.max_pages:  # there is no room for new pages
        visited.urls.clear()
        visited.keys.clear()


def _compare(visited: Visited, answer: Page | None) -> PageChange:
    known, row = visited.task.known, visited.row
    if known is None:
        return PageChange.NEW
    if answer is not None and answer.status == NOT_MODIFIED:
        return PageChange.NOT_MODIFIED
    if row is None:
        return compare(known.mark, _NONE, known.history.past)
    found = PageContentMark(
        status=row.status_code,
        outcome=row.outcome,
        content_hash=row.content_hash,
        fingerprint=row.fingerprint,
    )
    if found.is_redirect:  # it is known by where it leads
        found = PageContentMark(status=row.status_code, outcome=row.outcome, content_hash=row.final_url)
    return compare(known.mark, found, known.history.past)


def _validators(change: PageChange, answer: Page | None) -> tuple[str | None, str | None]:
    """None: as they were."""
    if answer is None or change in (PageChange.FAILED, PageChange.MISSED):
        return None, None
    absent = None if change is PageChange.NOT_MODIFIED else ""
    if answer.via == "render":  # they are of the page before its scripts have run
        return absent, absent
    return _validator(answer.header("etag"), absent), _validator(answer.header("last-modified"), absent)


def _validator(value: str | None, absent: str | None) -> str | None:
    if value is None or len(value) > MAX_VALIDATOR_CHARS or not (value.isascii() and value.isprintable()):
        return absent
    return value


def _leave_out(visited: Visited, change: PageChange) -> None:
    plan = visited.plan
    if not change.is_stored:
        visited.row = visited.page = visited.picture = None
        visited.links, visited.notes, visited.headers = (), (), ()
    is_full = plan.crawl.counts.pages >= plan.spec.max_pages and change is not PageChange.MOVED
    if change in _UNREAD or (is_full and change is not PageChange.NEW):
        visited.urls.clear()
        visited.keys.clear()
