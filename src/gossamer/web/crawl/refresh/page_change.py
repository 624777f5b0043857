"""What a visit to a page found, compared with what is stored.

The text decides, not the bytes: its hash tells that nothing has changed, and its fingerprint how much has. A
page whose text differs by next to nothing at every visit shows a clock or a counter. Once that is known, only
a larger difference is a change. The newest text is stored all the same, but nobody is told.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from gossamer.web.crawl.fingerprint import distance
from gossamer.web.outcome.outcome import Outcome

SMALL_BITS: Final = 4  # of fingerprints: at most two pairs of words in the sample are other ones
NOISY: Final = 3  # visits in a row that differ by so little, after which this is noise
GONE_STATUSES: Final = frozenset({404, 410})
LASTING_REDIRECTS: Final = frozenset({301, 308})
NOT_MODIFIED: Final = 304
_ERROR: Final = 400


class PageChange(StrEnum):
    """What a visit found."""

    NEW = "new"  # the page was not known
    CHANGED = "changed"
    TOUCHED = "touched"  # by next to nothing
    UNCHANGED = "unchanged"
    NOT_MODIFIED = "not_modified"  # the server says so, and sends no body
    NOISE = "noise"  # by next to nothing, as at every visit
    MISSED = "missed"  # it is not there, for the first time
    GONE = "gone"  # it is not there again
    MOVED = "moved"  # it redirects
    FAILED = "failed"  # there is no answer, or something else in place of the page

    @property
    def is_stored(self) -> bool:
        """Whether what was found takes the place of what is stored."""
        return self in _STORED

    @property
    def is_told(self) -> bool:
        """Whether it makes another version of the page, of which others hear."""
        return self.is_stored and self is not PageChange.NOISE

    @property
    def told(self) -> str:
        """In the words of events and versions."""
        return "changed" if self is PageChange.TOUCHED else self.value

    @property
    def is_change(self) -> bool:
        """Whether it counts for the rate at which the page changes."""
        return self in (PageChange.CHANGED, PageChange.TOUCHED)

    @property
    def is_evidence(self) -> bool:
        """Whether it tells anything about that rate."""
        return self.is_change or self in _SAME


_STORED: Final = frozenset(
    (
        PageChange.NEW,
        PageChange.CHANGED,
        PageChange.TOUCHED,
        PageChange.NOISE,
        PageChange.GONE,
        PageChange.MOVED,
    )
)
_SAME: Final = frozenset((PageChange.UNCHANGED, PageChange.NOT_MODIFIED, PageChange.NOISE))


class PageContentMark(Struct, frozen=True, kw_only=True):
    """An answer, as far as it is compared."""

    status: int | None  # None: there was no answer
    outcome: str = Outcome.OK
    content_hash: str = ""  # of the text
    fingerprint: str = ""

    @property
    def is_good(self) -> bool:
        return self.status is not None and self.status < _ERROR and self.outcome == Outcome.OK

    @property
    def is_redirect(self) -> bool:
        return self.status is not None and 300 <= self.status < _ERROR and self.status != NOT_MODIFIED


class PastVisits(Struct, frozen=True, kw_only=True):
    """What the visits before tell about the next one."""

    misses: int = 0  # in a row
    touches: int = 0  # in a row


def compare(known: PageContentMark | None, found: PageContentMark, past: PastVisits) -> PageChange:
    if known is None:
        return PageChange.NEW
    if found.status == NOT_MODIFIED:
        return PageChange.NOT_MODIFIED
    if found.status in GONE_STATUSES:
        return _missing(known, past)
    if found.is_redirect:
        return _redirected(known, found, past)
    if not found.is_good:
        return PageChange.FAILED if known.is_good else PageChange.UNCHANGED
    if not known.is_good or known.is_redirect:
        return PageChange.CHANGED  # it is back
    return _differing(known, found, past)


def _differing(known: PageContentMark, found: PageContentMark, past: PastVisits) -> PageChange:
    if found.content_hash == known.content_hash:
        return PageChange.UNCHANGED
    if distance(known.fingerprint, found.fingerprint) > SMALL_BITS:
        return PageChange.CHANGED
    return PageChange.NOISE if past.touches >= NOISY else PageChange.TOUCHED


def _missing(known: PageContentMark, past: PastVisits) -> PageChange:
    if known.status in GONE_STATUSES:
        return PageChange.UNCHANGED
    return PageChange.GONE if past.misses else PageChange.MISSED


def _redirected(known: PageContentMark, found: PageContentMark, past: PastVisits) -> PageChange:
    """One that does not last may be a page to log in, so it has to be seen twice."""
    if known.is_redirect:
        same = known.content_hash == found.content_hash
        return PageChange.UNCHANGED if same else PageChange.MOVED
    if not found.is_good:  # it leads nowhere
        return PageChange.FAILED
    return PageChange.MOVED if past.misses or found.status in LASTING_REDIRECTS else PageChange.MISSED
