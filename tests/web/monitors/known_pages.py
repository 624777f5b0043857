"""Pages of the pairs as snapshots, and what a monitor and plain comparisons say about each pair."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.web.monitors.page_pairs import PagePair

from gossamer.web.monitors.page_snapshot import PageSnapshot, watched_text
from gossamer.web.monitors.rules.change_rule import TextRule
from gossamer.web.monitors.rules.comparing import ChangeVerdict, SnapshotComparison
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import Reading, read
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.search.passages import OutlinedText

URL: Final = "https://watched.example/"


@dataclass(frozen=True, slots=True)
class Errors:
    false_alarms: tuple[PagePair, ...]
    misses: tuple[PagePair, ...]


def judge_pairs(fires: Callable[[PagePair], bool], pairs: Iterable[PagePair]) -> Errors:
    wrong = [pair for pair in pairs if fires(pair) is not pair.is_change]
    return Errors(
        tuple(pair for pair in wrong if not pair.is_change), tuple(pair for pair in wrong if pair.is_change)
    )


def verdict_on(pair: PagePair) -> ChangeVerdict:
    old, new = (snapshot_of(html, at) for html, at in zip((pair.before, pair.after), pair.times, strict=True))
    return SnapshotComparison(old, new).judge((TextRule(),))


def snapshot_of(html: str, taken_at: float) -> PageSnapshot:
    main, whole = read_html(html), read_html(html, main_content=False)
    watched = watched_text(OutlinedText(main.text, main.headings), OutlinedText(whole.text, whole.headings))
    return PageSnapshot(
        url=URL,
        taken_at=taken_at,
        title=main.title,
        status=200,
        outcome=Outcome.OK,
        language=main.metadata.language or "",
        text=watched.text,
        headings=watched.headings,
        rest=watched.rest,
    )


def read_html(html: str, *, main_content: bool = True) -> Reading:
    page = Page(
        url=URL,
        final_url=URL,
        status=200,
        headers=(),
        body=html.encode(),
        media_type="text/html",
        charset="utf-8",
    )
    return read(page, ReadingOptions(main_content=main_content))


CONTENDERS: Final[Mapping[str, Callable[[PagePair], bool]]] = {
    "Gossamer's monitors": lambda pair: verdict_on(pair).is_change,
    "text of the main content, compared": lambda pair: (
        read_html(pair.before).text != read_html(pair.after).text
    ),
    "all visible text, compared": lambda pair: (
        read_html(pair.before, main_content=False).text.split()
        != read_html(pair.after, main_content=False).text.split()
    ),
    "HTML, compared": lambda pair: pair.before != pair.after,
}
