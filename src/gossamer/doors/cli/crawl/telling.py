"""What `gossamer crawl` tells: its pages, its progress, why it waits, and how it ended."""

from collections.abc import Sequence
from typing import Final, Literal

import click

from gossamer.doors.cli.crawl.crawl_output import Output
from gossamer.web.crawl.progress import CrawlCounts
from gossamer.web.crawl.shown_page import ShownPage
from gossamer.web.crawl.traps.trap import Trap

FAILED: Final = 1
WAITS: Final = 3
INTERRUPTED: Final = 130
PATIENCE: Final = 120.0  # seconds to wait for a host
SHOWN_TRAPS: Final = 5
End = Literal["over", "interrupted", "waits"]
_REASONS: Final = {
    "robots_unreachable": "does not serve its robots.txt",
    "failing": "fails again and again",
    "pace": "asks for a long pause",
    "render_limit": "waits until more pages may be rendered",
    "page_quota": "waits until more pages may be stored",
    "byte_quota": "waits until there is room for more bytes",
}


class PrintedPages:
    """Writes the pages of a crawl, and remembers whether there was an answer among them."""

    def __init__(self, written: Output) -> None:
        self._written = written
        self.answered = 0  # pages with an answer
        self.error = ""  # of the last page without one

    def put(self, pages: Sequence[ShownPage]) -> None:
        self._written.put(pages)
        for page in pages:
            self.answered += page.status_code is not None
            self.error = page.error or self.error


def progress_of(counts: CrawlCounts, seconds: float) -> str:
    lost = f", {counts.failed:,} failed" if counts.failed else ""
    pages = "page" if counts.pages == 1 else "pages"
    return f"{counts.pages:,} {pages}, {counts.left:,} more known{lost}, {seconds:.0f} s"


def why_it_waits(reason: str | None) -> str:
    return (
        f"Every host that is left {_REASONS.get(reason or '', 'does not answer, or asks for a long pause')}."
    )


def say_how_to_continue(crawl_id: str, *, is_paused: bool, command: str = "gossamer") -> None:
    if is_paused:
        click.echo(f"Paused. Go on with: {command} crawl --resume {crawl_id}", err=True)
    else:
        click.echo(f"To print the stored pages: {command} crawls pages {crawl_id}", err=True)


def say_traps(traps: Sequence[Trap]) -> None:
    """What was not followed, and how to follow it all the same."""
    if not traps:
        return
    cut = sum(trap.cut for trap in traps)
    click.echo(f"About {cut:,} URLs were not followed, because they lead nowhere:", err=True)
    for trap in traps[:SHOWN_TRAPS]:
        click.echo(f"  {trap.cut:>7,}  {trap.kind.value}  {trap.pattern}  e.g. {trap.example}", err=True)
    if len(traps) > SHOWN_TRAPS:
        click.echo(f"  and {len(traps) - SHOWN_TRAPS} more patterns", err=True)
    click.echo("--trap-exception PATTERN follows some of them, --traps off all.", err=True)


def report_end(
    crawl_id: str, counts: CrawlCounts, end: End, printed: PrintedPages, *, command: str = "gossamer"
) -> int:
    """Say how the crawl ended; returns the exit code."""
    if end != "over":
        say_how_to_continue(crawl_id, is_paused=True, command=command)
    if end == "interrupted":
        return INTERRUPTED
    if printed.answered == 0:
        why = "robots.txt forbids it" if counts.blocked else printed.error
        click.echo(f"gossamer: not a single page could be had{why and ': '}{why}.", err=True)
        return FAILED
    return WAITS if end == "waits" else 0
