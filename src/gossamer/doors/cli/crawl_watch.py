"""A crawl on the command line, as it goes on: its pages are printed as they come, and how far it is."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, Literal

import click

from gossamer.doors.cli import House
from gossamer.doors.cli.crawl_output import Output
from gossamer.flows.crawl.results import Stored
from gossamer.state.crawled_pages import PageFilter, Position
from gossamer.state.crawls import Counts, Crawl
from gossamer.state.hosts import Host

PATIENCE: Final = 120.0  # seconds that a host is waited for
MOST_HOSTS: Final = 1_000  # that are looked at for it
End = Literal["over", "interrupted", "waits"]
_REASONS: Final = {
    "robots_unreachable": "does not hand out its robots.txt",
    "failing": "fails again and again",
    "pace": "asks for a long pause",
    "render_limit": "waits until more pages may be rendered",
}


class Progress:
    """A line on the terminal that says how far it is; nothing in a pipe."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._started = time.monotonic()

    def tell(self, counts: Counts) -> None:
        if self._shown:
            click.echo(f"\r\x1b[K{self._line(counts)}", err=True, nl=False)

    def pause(self) -> None:
        """Something else is told."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)

    def end(self, counts: Counts) -> None:
        if self._shown:
            click.echo(f"\r\x1b[K{self._line(counts)}", err=True)

    def _line(self, counts: Counts) -> str:
        seconds = time.monotonic() - self._started
        lost = f", {counts.failed:,} failed" if counts.failed else ""
        pages = "page" if counts.pages == 1 else "pages"
        return f"{counts.pages:,} {pages}, {counts.left:,} more known{lost}, {seconds:.0f} s"


class Watch:
    """Prints what a crawl stores."""

    def __init__(self, house: House, crawl: Crawl, written: Output, progress: Progress) -> None:
        self._house = house
        self._crawl = crawl
        self._written = written
        self._progress = progress
        self._position: Position | None = None
        self.answered = 0  # pages that a host has answered with
        self.error = ""  # of the last that it has not

    async def until_over(self, interrupted: asyncio.Event, working: asyncio.Task[None]) -> End:
        """Until somebody has had enough, or nothing can be had for a good while, or the crawl is over."""
        async with aclosing(self._follow()) as arriving:
            async for arrived in arriving:
                self._print(arrived)
                self._progress.tell(await self._house.crawls.counts(self._crawl.id))
                if working.done():
                    working.result()  # it does not end by itself
                if interrupted.is_set():
                    return "interrupted"
                if not arrived and await self._waits():
                    await self._say_why()
                    return "waits"
        return "over"

    async def print_rest(self) -> None:
        """What was on its way when it ended."""
        async with aclosing(self._follow()) as arriving:
            async for arrived in arriving:
                self._print(arrived)

    async def _say_why(self) -> None:
        waiting = await self._house.crawls.waiting(self._crawl)
        reason = _REASONS.get(waiting.reason if waiting else "", "does not answer, or asks for a long pause")
        self._progress.pause()
        click.echo(f"What is left {reason}.", err=True)

    def _follow(self) -> AsyncGenerator[list[Stored]]:
        which = PageFilter(crawl_id=self._crawl.id)
        return self._house.crawl_results.follow(which, self._position, self._written.content)

    def _print(self, arrived: list[Stored]) -> None:
        if arrived:
            self._written.put(arrived)
            self._position = arrived[-1].position
        for stored in arrived:
            self.answered += stored.page.status_code is not None
            self.error = stored.page.error or self.error

    async def _waits(self) -> bool:
        """Is every host that is left to be left alone for long: because it fails, or asks for it?"""
        hosts = await self._house.hosts.listing(crawl_id=self._crawl.id, limit=MOST_HOSTS)
        left = [host for host in hosts if host.pending or host.in_progress]
        if not left or len(hosts) == MOST_HOSTS or any(host.in_progress for host in left):
            return False
        return all(self._rests(host) for host in left)

    def _rests(self, host: Host) -> bool:
        usual = max(host.delay_ms or 0, (self._crawl.spec.delay or 0) * 1000)
        until = max(host.next_at, host.resting_until) - 2 * usual
        return until / 1000 > time.time() + PATIENCE
