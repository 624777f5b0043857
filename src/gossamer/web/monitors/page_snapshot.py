"""PageSnapshot: what a look at a page has found, as it is kept and compared with the next one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gossamer.web.monitors.diff.sequence_diff import edits
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.search.passages import OutlinedText

MAX_TEXT_CHARS: Final = 400_000
MAX_REST_CHARS: Final = 100_000


class PageSnapshot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    url: str
    taken_at: float  # Unix seconds
    title: str = ""
    status: int = 0  # 0: no answer came
    outcome: Outcome | None = None  # None: no page came
    reason: str = ""  # of the outcome
    problem: str = ""  # the code of the problem that kept us from the page
    language: str = ""
    text: str = ""  # one line for each block
    headings: tuple[int, ...] = ()  # where headings begin in it
    rest: str = ""  # the lines of the page that are not in the text
    parts: Mapping[str, str] = {}  # the text at each selector of the rules
    fields: Mapping[str, Any] = {}  # the data of each rule that extracts, by its number
    picture: str = ""  # the blob with the screenshot
    anchors: Mapping[str, float] = {}  # numbers when they were last told, by the number of the rule
    fingerprint: str = ""  # of the stored page that it was read from
    is_read: bool = True  # False: an error came, and there never was anything else

    @property
    def is_good(self) -> bool:
        """Whether this is the page: no captcha, error, log-in or empty shell in its place."""
        return self.outcome is Outcome.OK

    def equals(self, other: "PageSnapshot") -> bool:
        """Whether nothing at all differs but the time."""
        return replace(self, taken_at=0.0, picture="") == replace(other, taken_at=0.0, picture="")

    def with_status_of(self, other: "PageSnapshot") -> "PageSnapshot":
        """What is known of the page stays, and its status is that of a look that failed."""
        return replace(
            self,
            taken_at=other.taken_at,
            status=other.status,
            outcome=other.outcome,
            reason=other.reason,
            problem=other.problem,
        )


class WatchedText(msgspec.Struct, frozen=True):
    """The part of a page whose lines are compared, and the lines around it."""

    text: str
    headings: tuple[int, ...] = ()
    rest: str = ""


def watched_text(main: OutlinedText, whole: OutlinedText) -> WatchedText:
    """Everything from the first to the last line of the main content, also what that leaves out in between:
    a date or a price that looks like furniture may be what somebody waits for."""
    lines, chosen = list(_lines(whole)), [text for text, _ in _lines(main)]
    known = [text for text, _ in lines]
    matched = [edit.new for edit in edits(chosen, known) if edit.kind == "equal"]
    if not matched:
        return _joined(list(_lines(main)), ())
    first, stop = matched[0].start, matched[-1].stop
    return _joined(lines[first:stop], known[:first] + known[stop:])


def whole_text(outlined: OutlinedText) -> WatchedText:
    return _joined(list(_lines(outlined)), ())


def _lines(outlined: OutlinedText) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is a heading."""
    headings = {heading.at for heading in outlined.headings}
    place = 0
    for line in outlined.text[:MAX_TEXT_CHARS].split("\n"):
        if line.strip():
            yield line.strip(), place in headings
        place += len(line) + 1


def _joined(lines: Sequence[tuple[str, bool]], rest: Sequence[str]) -> WatchedText:
    headings, place = [], 0
    for text, is_heading in lines:
        if is_heading:
            headings.append(place)
        place += len(text) + 1
    joined = "\n".join(text for text, _ in lines)
    return WatchedText(joined, tuple(headings), "\n".join(rest)[:MAX_REST_CHARS])
