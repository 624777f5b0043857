"""Shows the progress of a command on one line of the terminal."""

import sys
import time

import click


class ProgressLine:
    """Overwrites one line on standard error, without control sequences. Shows nothing in a pipe."""

    def __init__(self, *, is_wanted: bool) -> None:
        self._is_shown = is_wanted and sys.stderr.isatty()
        self._width = 0  # of the text on the line
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def show(self, text: str, *, is_last: bool = False) -> None:
        if self._is_shown:
            click.echo(f"\r{text.ljust(self._width)}", err=True, nl=is_last)
            self._width = len(text)

    def clear(self) -> None:
        """Make room for another message."""
        if self._is_shown:
            click.echo(f"\r{' ' * self._width}\r", err=True, nl=False)
            self._width = 0


class PageProgress:
    """Counts the pages of a command that has many, on a progress line."""

    def __init__(self, total: int, *, is_wanted: bool) -> None:
        self._total = total
        self._done = 0
        self._line = ProgressLine(is_wanted=is_wanted)

    def step(self) -> None:
        self._done += 1
        text = f"{self._done:,} of {self._total:,} pages, {self._line.seconds:.1f} s"
        self._line.show(text, is_last=self._done == self._total)
