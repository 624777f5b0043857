"""Where the pages of a crawl are written to: lines of JSON, a table, or a folder of markdown files."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, Protocol, TextIO

import click
import msgspec

from gossamer.doors.cli.fetch import file_name
from gossamer.doors.http import moments
from gossamer.doors.http.crawl_page_lines import csv_head, csv_lines, json_line
from gossamer.flows.crawl.results import Shape, Stored
from gossamer.web.outcome import Outcome

Shown = Literal["jsonl", "csv", "markdown"]
_SUFFIXES: Final[dict[str, Shown]] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}


class Output(Protocol):
    @property
    def content(self) -> Shape | None:
        """What is needed of each page."""

    @property
    def is_terminal(self) -> bool: ...

    def open(self) -> None:
        """What is there is overwritten; so this comes when there is something to be written."""

    def put(self, pages: Sequence[Stored]) -> None: ...

    def close(self) -> None: ...


def output_for(path: str | None, shape: Shown | None, content: Shape | None) -> Output:
    """By the format that is asked for, else by the name of the file; a folder gets markdown files."""
    shape = shape or _shape_of(path)
    if content is not None and shape != "jsonl":
        raise click.UsageError("--content is for JSON lines; a folder has markdown files, a table has none.")
    if shape == "markdown":
        if path is None:
            raise click.UsageError("Markdown files need a folder: add --output FOLDER.")
        return Folder(Path(path))
    return Lines(path, content) if shape == "jsonl" else Table(path)


def _shape_of(path: str | None) -> Shown:
    if path is None:
        return "jsonl"
    if path.endswith("/") or Path(path).is_dir():
        return "markdown"
    return _SUFFIXES.get(Path(path).suffix.lower(), "jsonl")


def _opened(path: str) -> TextIO:
    try:
        return Path(path).open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise click.FileError(path, error.strerror) from error


class _File:
    """One that may be the standard output."""

    def __init__(self, path: str | None) -> None:
        self._path = None if path == "-" else path
        self._file = sys.stdout

    @property
    def is_terminal(self) -> bool:
        return self._path is None and self._file.isatty()

    def open(self) -> None:
        if self._path is not None:
            self._file = _opened(self._path)

    def close(self) -> None:
        if self._file is not sys.stdout:
            with self._writing():
                self._file.close()

    def _write(self, lines: Iterable[str]) -> None:
        with self._writing():
            self._file.writelines(lines)
            self._file.flush()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # who reads it has seen enough
            raise
        except OSError as error:
            raise click.ClickException(f"Cannot write to {self._file.name}: {error.strerror}.") from error


class Lines(_File):
    def __init__(self, path: str | None, content: Shape | None) -> None:
        super().__init__(path)
        self.content = content

    def put(self, pages: Sequence[Stored]) -> None:
        self._write(json_line(stored).decode() for stored in pages)


class Table(_File):
    content = None

    def open(self) -> None:
        super().open()
        self._write([csv_head()])

    def put(self, pages: Sequence[Stored]) -> None:
        self._write([csv_lines(pages)])


class Folder:
    """A file for every page that is one, with what is known of it above what it says."""

    content: Shape = "markdown"
    is_terminal = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.FileError(str(self._folder), error.strerror) from error

    def put(self, pages: Sequence[Stored]) -> None:
        for stored in pages:
            if stored.content and stored.page.outcome == Outcome.OK:
                self._write(stored)

    def close(self) -> None:
        """Each file was closed when it was written."""

    def _write(self, stored: Stored) -> None:
        target = self._folder / file_name(stored.page.url, "markdown")
        try:
            target.write_text(_front_matter(stored) + (stored.content or ""), encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(target), error.strerror) from error


def _front_matter(stored: Stored) -> str:
    page = stored.page
    known = {
        "title": page.title,
        "url": page.final_url,
        "description": page.description,
        "language": page.language,
        "crawledAt": moments.stored(page.crawled_at),
    }
    # A text of JSON is one of YAML too.
    lines = [f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in known.items() if value]
    return f"---\n{''.join(lines)}---\n\n"
