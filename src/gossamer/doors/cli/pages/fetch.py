"""`gossamer fetch URL…`: prints pages as clean content, or writes them to files."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any, Final, cast, get_args

import click
import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict

from gossamer.client.client import Client
from gossamer.client.errors import GossamerError
from gossamer.doors.cli import Build, with_settings
from gossamer.doors.cli.pages.llm_query import check_query, llm_query
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.cli.shared.progress import PageProgress
from gossamer.doors.cli.shared.writing import file_name, write
from gossamer.web.content.brief import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page_request import FORMATS, Format, PageOptions, PageRequest, Rendering
from gossamer.web.pages.read_result import FetchAnswer

_SETTINGS: Final = (
    "egress_allow",
    "egress_ports",
    "dns_servers",
    "user_agent",
    "chromium",
    "fence",
    "browser_url",
    "browser_proxy_url",
    "data_dir",
    "database_url",
)
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)  # control characters, which must not reach a terminal
_SHOWN: Final = (*FORMATS, "json")
_ALL: Final = tuple(name for name in FORMATS if name != "llm")  # `llm` leaves out a part of the page
FAILED: Final = 1
NOT_OK: Final = 3


class FetchedLine(Struct, frozen=True):
    """The outcome for one URL."""

    url: str
    answer: FetchAnswer | GossamerError

    @property
    def code(self) -> int:
        if isinstance(self.answer, GossamerError):
            return FAILED
        return 0 if self.answer.outcome is Outcome.OK else NOT_OK


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
    type=click.IntRange(MIN_TOKENS, MAX_TOKENS),
    default=DEFAULT_TOKENS,
    show_default=True,
    help="The most tokens that the format llm may have.",
)
@llm_query
@click.option(
    "--render",
    type=click.Choice(get_args(Rendering)),
    default="never",
    show_default=True,
    help="Use a browser if a page is an empty shell without one (auto), or always.",
)
@click.option("--wait-for", metavar="CSS", help="For the browser: wait until an element matches.")
@click.option("--full", is_flag=True, help="The full page instead of its main content.")
@click.option("--include", multiple=True, metavar="CSS", help="Only what matches; may be repeated.")
@click.option("--exclude", multiple=True, metavar="CSS", help="Without what matches; may be repeated.")
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
    query: str,
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

    Several URLs are fetched at once and printed in their order. Exit code: 0 if all are the requested
    pages, 3 if one of them is something else (a captcha, a log-in, an error page), 1 if one could not be
    fetched.
    """
    access = web_access(build, flags)
    if wait_for is not None and render == "never":
        raise click.UsageError("--wait-for needs a browser: add --render auto or --render always")
    check_query(query, (shape,))
    options = PageOptions(
        formats=_ALL if shape == "json" else (cast("Format", shape), "metadata"),
        main_content=not full,
        include=include,
        exclude=exclude,
        max_tokens=max_tokens,
        query=query,
        timeout=round(timeout * 1000),
        render=render,
        wait_for_selector=wait_for or UNSET,
    )
    printer = Printer(shape, output, many=len(urls) > 1)
    progress = PageProgress(len(urls), is_wanted=not quiet and len(urls) > 1)

    async def work(web: Client) -> int:
        return await _fetch_all(web, urls, options, at_once, printer, progress)

    sys.exit(asyncio.run(access.ask(work)))


async def _fetch_all(
    web: Client,
    urls: tuple[str, ...],
    options: PageOptions,
    at_once: int,
    printer: "Printer",
    progress: PageProgress,
) -> int:
    places = asyncio.Semaphore(at_once)

    async def one(url: str) -> FetchedLine:
        async with places:
            line = await _fetch(web, options.at(url))
        progress.step()
        return line

    tasks = [asyncio.create_task(one(url)) for url in urls]
    worst = 0
    for task in tasks:
        result = await task
        printer.show(result)
        worst = max(worst, result.code, key=lambda code: (code == FAILED, code))
    return worst


async def _fetch(web: Client, request: PageRequest) -> FetchedLine:
    try:
        return FetchedLine(request.url, await web.ask("POST", "/fetch", FetchAnswer, request))
    except GossamerError as problem:
        return FetchedLine(request.url, problem)


class Printer:
    def __init__(self, shape: str, output: str | None, *, many: bool) -> None:
        self._shape = shape
        self._output = Path(output) if output is not None else None
        self._as_folder = output is not None and (many or output.endswith("/") or Path(output).is_dir())
        self._to_terminal = sys.stdout.isatty()
        self._printed = 0

    def show(self, line: FetchedLine) -> None:
        answer = line.answer
        if isinstance(answer, GossamerError):
            _complain(f"{line.url}: {_sentence(answer)}")
            return
        if answer.outcome is not Outcome.OK:
            why = f" ({answer.reason})" if answer.reason else ""
            _complain(f"{line.url}: {answer.outcome}{why}, status {answer.status}")
        self._put(line.url, _format(answer, self._shape))

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


def _sentence(problem: GossamerError) -> str:
    sentence = problem.detail if problem.detail.endswith((".", "?", "!")) else f"{problem.detail}."
    return f"{sentence} {problem.hint}" if problem.hint else sentence


def _format(answer: FetchAnswer, shape: str) -> str:
    """One page in the requested format. JSON is one object a line, so that several pages are JSON lines."""
    if shape == "json":
        read = answer.to_read_result()
        fields = {name: None if value is UNSET else value for name, value in asdict(read).items()}
        return msgspec.json.encode(fields).decode() + "\n"
    if shape == "metadata":
        metadata = msgspec.json.encode(answer.to_read_result().metadata)
        return msgspec.json.format(metadata, indent=2).decode() + "\n"
    if shape == "links":
        return "".join(f"{link.url}\t{' '.join(link.text.split())}\n" for link in answer.links or ())
    if shape == "images":
        return "".join(f"{url}\n" for url in answer.images or ())
    texts = {"html": answer.html, "rawHtml": answer.raw_html, "text": answer.text}
    return texts.get(shape, answer.content) or ""
