"""`gossamer fetch URL…`: pages as clean content, on the screen or in files."""

import asyncio
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import click
import msgspec

from gossamer.doors.cli import Build, House, load, quiet_log, with_settings
from gossamer.doors.cli.owner import reading
from gossamer.doors.cli.writing import write
from gossamer.flows.admit import Caller
from gossamer.flows.obtain import Rendering
from gossamer.flows.read import FORMATS, Read, Wish, new_boundary
from gossamer.problems import Problem
from gossamer.web.brief import DEFAULT, FEWEST, MOST, enveloped
from gossamer.web.outcome import Outcome
from gossamer.web.reading import How
from gossamer.web.url import Url, digest

_SETTINGS: Final = (
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "chromium",
    "browser_url",
    "browser_proxy_url",
    "data_dir",
    "database_url",
)
_SUFFIXES: Final = {
    "markdown": ".md",
    "llm": ".md",
    "text": ".txt",
    "html": ".html",
    "rawHtml": ".html",
    "links": ".tsv",
}
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what a page must not say to a terminal
_SHOWN: Final = (*FORMATS, "json")
_ALL: Final = tuple(name for name in FORMATS if name != "llm")  # which is made from less than is there
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


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of every page."""

    how: How
    formats: tuple[str, ...]
    timeout: float
    max_tokens: int
    render: Rendering
    wait_for: str | None

    def of(self, url: str) -> Wish:
        return Wish(
            url=Url.parse(url),
            how=self.how,
            formats=self.formats,
            timeout=self.timeout,
            max_tokens=self.max_tokens,
            render=self.render,
            wait_for=self.wait_for,
        )


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
@click.option(
    "--max-tokens",
    type=click.IntRange(FEWEST, MOST),
    default=DEFAULT,
    show_default=True,
    help="The most that the format llm may have.",
)
@click.option(
    "--render",
    type=click.Choice(get_args(Rendering)),
    default="never",
    show_default=True,
    help="By a browser: where a page is an empty shell without one (auto), or always.",
)
@click.option("--wait-for", metavar="CSS", help="For the browser: the page is done when something matches.")
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
    max_tokens: int,
    render: Rendering,
    wait_for: str | None,
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
    if wait_for is not None and render == "never":
        raise click.UsageError("--wait-for needs a browser: add --render auto or --render always")
    wanted = Wanted(
        How(not full, include, exclude),
        _ALL if shape == "json" else (shape, "metadata"),
        timeout,
        max_tokens,
        render,
        wait_for,
    )
    printer = Printer(shape, output, many=len(urls) > 1)
    progress = Progress(len(urls), shown=not quiet and sys.stderr.isatty())

    async def work() -> int:
        house = build(settings, quiet_log(settings))
        try:
            if render != "never":
                await house.open_proxy()
            async with reading(house) as owner:
                return await _fetch_all(house, owner, urls, wanted, at_once, printer, progress)
        finally:
            await house.close()

    sys.exit(asyncio.run(work()))


async def _fetch_all(
    house: House,
    owner: Caller,
    urls: tuple[str, ...],
    wanted: Wanted,
    at_once: int,
    printer: "Printer",
    progress: "Progress",
) -> int:
    places = asyncio.Semaphore(at_once)

    async def one(url: str) -> Result:
        async with places:
            try:
                result = Result(url, await house.reader.read(wanted.of(url), owner))
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
            _complain(f"{result.url}: {_told(result.problem)}")
            return
        if result.read.outcome is not Outcome.OK:
            why = f" ({result.read.reason})" if result.read.reason else ""
            _complain(f"{result.url}: {result.read.outcome}{why}, status {result.read.status}")
        self._put(result.url, _rendered(result.read, self._shape))

    def _put(self, url: str, text: str) -> None:
        if self._output is None:
            self._print(text.rstrip("\n"))
            return
        target = self._output / file_name(url, self._shape) if self._as_folder else self._output
        write(target, text.encode())

    def _print(self, text: str) -> None:
        if not text:
            return
        separator = "\n" if self._printed and self._shape not in ("json", "links") else ""
        click.echo(separator + (_CONTROL.sub("\ufffd", text) if self._to_terminal else text))
        self._printed += 1


def _complain(message: str) -> None:
    click.echo(f"gossamer: {_CONTROL.sub(' ', message)}", err=True)


def _told(problem: Problem) -> str:
    sentence = problem.detail if problem.detail.endswith((".", "?", "!")) else f"{problem.detail}."
    return f"{sentence} {problem.hint}" if problem.hint else sentence


def _rendered(read: Read, shape: str) -> str:
    """One page in the shape asked for; JSON is one object a line, so that many pages are JSON lines."""
    if shape == "json":
        return msgspec.json.encode(read).decode() + "\n"
    if shape == "metadata":
        return msgspec.json.format(msgspec.json.encode(read.metadata), indent=2).decode() + "\n"
    if shape == "links":
        return "".join(f"{link.url}\t{' '.join(link.text.split())}\n" for link in read.links or ())
    llm = enveloped(read.llm, new_boundary()) if read.llm else None
    texts = {
        "markdown": read.markdown,
        "llm": llm,
        "html": read.html,
        "rawHtml": read.raw_html,
        "text": read.text,
    }
    return texts[shape] or ""


def file_name(url: str, shape: str) -> str:
    """Recognisable, and different for different URLs."""
    parsed = Url.parse(url)
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in f"{parsed.host}{parsed.path}").strip("-.")
    return f"{name[:100]}-{digest(url)[:8]}{_SUFFIXES.get(shape, '.json')}"
