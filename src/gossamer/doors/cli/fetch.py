"""`gossamer fetch URL…`: pages as clean content, on the screen or in files."""

import asyncio
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from gossamer.doors.cli import Build, House, load, quiet_log, with_settings
from gossamer.flows.read import FORMATS, Read, Wish
from gossamer.problems import Problem
from gossamer.web.outcome import Outcome
from gossamer.web.reading import How
from gossamer.web.url import Url, digest

_SETTINGS: Final = ("egress_allow", "egress_ports", "dns_servers", "user_agent", "data_dir")
_SUFFIXES: Final = {"markdown": ".md", "text": ".txt", "html": ".html", "rawHtml": ".html", "links": ".tsv"}
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what a page must not say to a terminal
_SHOWN: Final = (*FORMATS, "json")
FAILED: Final = 1
NOT_OK: Final = 3


@dataclass(frozen=True, slots=True)
class Result:
    url: str
    read: Read | None = None
    problem: Problem | None = None

    @property
    def code(self) -> int:
        if self.read is None:
            return FAILED
        return 0 if self.read.outcome is Outcome.OK else NOT_OK


@click.command("fetch")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option(
    "--format",
    "shape",
    type=click.Choice(_SHOWN),
    default="markdown",
    show_default=True,
    help="What to print.",
)
@click.option("--full", is_flag=True, help="The full page instead of its main content.")
@click.option("--include", multiple=True, metavar="CSS", help="Only what matches; may be repeated.")
@click.option("--exclude", multiple=True, metavar="CSS", help="Not what matches; may be repeated.")
@click.option(
    "--output",
    "-o",
    metavar="PATH",
    help="A file; with several URLs, or if it ends in /, a folder.",
)
@click.option(
    "--timeout", type=click.FloatRange(0.1, 600), default=30.0, show_default=True, help="Seconds a page."
)
@click.option(
    "--at-once", type=click.IntRange(1, 64), default=8, show_default=True, help="Pages at the same time."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal.")
@with_settings(_SETTINGS)
@click.pass_obj
def fetch(
    build: Build,
    /,
    urls: tuple[str, ...],
    shape: str,
    full: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    output: str | None,
    timeout: float,
    at_once: int,
    quiet: bool,
    **flags: Any,
) -> None:
    """Fetch pages and print them as clean content.

    Several URLs are fetched at once and printed in their order. Exit code: 0 when every page is what was
    asked for, 3 when one of them is something else (a captcha, a log-in, an error page), 1 when one could
    not be had.
    """
    settings = load(flags)
    how = How(not full, include, exclude)
    formats = FORMATS if shape == "json" else (shape, "metadata")
    printer = Printer(shape, output, many=len(urls) > 1)
    progress = Progress(len(urls), shown=not quiet and sys.stderr.isatty())

    async def work() -> int:
        house = build(settings, quiet_log(settings))
        try:
            return await _fetch_all(house, urls, how, formats, timeout, at_once, printer, progress)
        finally:
            await house.close()

    sys.exit(asyncio.run(work()))


async def _fetch_all(
    house: House,
    urls: tuple[str, ...],
    how: How,
    formats: tuple[str, ...],
    timeout: float,
    at_once: int,
    printer: "Printer",
    progress: "Progress",
) -> int:
    places = asyncio.Semaphore(at_once)

    async def one(url: str) -> Result:
        async with places:
            try:
                wish = Wish(url=Url.parse(url), how=how, formats=formats, timeout=timeout)
                result = Result(url, await house.reader.read(wish))
            except Problem as problem:
                result = Result(url, problem=problem)
        progress.step(result)
        return result

    tasks = [asyncio.create_task(one(url)) for url in urls]
    worst = 0
    for task in tasks:
        result = await task
        printer.show(result)
        worst = max(worst, result.code, key=lambda code: (code == FAILED, code))
    return worst


class Progress:
    """A line on the terminal that says how far it is; nothing in a pipe."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self._total = total
        self._shown = shown and total > 1
        self._done = 0
        self._started = time.monotonic()

    def step(self, result: Result) -> None:
        self._done += 1
        if self._shown:
            seconds = time.monotonic() - self._started
            end = "\n" if self._done == self._total else ""
            click.echo(f"\r{self._done} of {self._total} pages, {seconds:.1f} s{end}", err=True, nl=False)


class Printer:
    def __init__(self, shape: str, output: str | None, *, many: bool) -> None:
        self._shape = shape
        self._output = Path(output) if output is not None else None
        self._as_folder = output is not None and (many or output.endswith("/") or Path(output).is_dir())
        self._to_terminal = sys.stdout.isatty()
        self._printed = 0

    def show(self, result: Result) -> None:
        if result.read is None:
            assert result.problem is not None  # noqa: S101  (one of the two)
            hint = f" {result.problem.hint}" if result.problem.hint else ""
            _complain(f"{result.url}: {result.problem.detail}{hint}")
            return
        if result.read.outcome is not Outcome.OK:
            why = f" ({result.read.reason})" if result.read.reason else ""
            _complain(f"{result.url}: {result.read.outcome}{why}, status {result.read.status}")
        self._put(result.url, _rendered(result.read, self._shape))

    def _put(self, url: str, text: str) -> None:
        if self._output is None:
            self._print(text.rstrip("\n"))
            return
        target = self._output / _file_name(url, self._shape) if self._as_folder else self._output
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(target), error.strerror) from error

    def _print(self, text: str) -> None:
        if not text:
            return
        separator = "\n" if self._printed and self._shape not in ("json", "links") else ""
        click.echo(separator + (_CONTROL.sub("\ufffd", text) if self._to_terminal else text))
        self._printed += 1


def _complain(message: str) -> None:
    click.echo(f"gossamer: {_CONTROL.sub(' ', message)}", err=True)


def _rendered(read: Read, shape: str) -> str:
    """One page in the shape asked for; JSON is one object a line, so that many pages are JSON lines."""
    if shape == "json":
        return msgspec.json.encode(read).decode() + "\n"
    if shape == "metadata":
        return msgspec.json.format(msgspec.json.encode(read.metadata), indent=2).decode() + "\n"
    if shape == "links":
        return "".join(f"{link.url}\t{' '.join(link.text.split())}\n" for link in read.links or ())
    texts = {"markdown": read.markdown, "html": read.html, "rawHtml": read.raw_html, "text": read.text}
    return texts[shape] or ""


def _file_name(url: str, shape: str) -> str:
    """Recognisable, and different for different URLs."""
    parsed = Url.parse(url)
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in f"{parsed.host}{parsed.path}").strip("-.")
    return f"{name[:100]}-{digest(url)[:8]}{_SUFFIXES.get(shape, '.json')}"
