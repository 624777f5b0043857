"""Writes the pages of a crawl as lines of JSON, a table, or a folder of markdown files."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, Protocol, TextIO

import click
import msgspec
from msgspec import Struct

from gossamer.doors.cli.shared.writing import file_name, report_failure, write
from gossamer.web.crawl.page_table import csv_head, csv_lines
from gossamer.web.crawl.shown_page import ShownPage
from gossamer.web.outcome.outcome import Outcome

Content = Literal["markdown", "text", "html"]
OutputFormat = Literal["jsonl", "csv", "markdown"]
_SUFFIXES: Final[dict[str, OutputFormat]] = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


class Output(Protocol):
    @property
    def content(self) -> Content | None:
        """The format of content that each page needs, if any."""

    @property
    def is_terminal(self) -> bool: ...

    def open(self) -> None:
        """Overwrite the existing output. Call it only when there is something to write."""

    def put(self, pages: Sequence[ShownPage]) -> None: ...

    def close(self) -> None: ...


def output_for(path: str | None, shape: OutputFormat | None, content: Content | None) -> Output:
    """Choose by the format, or by the name of the file. A folder gets markdown files."""
    shape = shape or _shape_of(path)
    if content is not None and shape != "jsonl":
        raise click.UsageError("--content is for JSON lines; a folder has markdown files, a table has none.")
    if shape == "markdown":
        if path is None:
            raise click.UsageError("Markdown files need a folder: add --output FOLDER.")
        return MarkdownFolder(Path(path))
    return JsonLinesFile(path, content) if shape == "jsonl" else CsvFile(path)


def _shape_of(path: str | None) -> OutputFormat:
    if path is None:
        return "jsonl"
    if path.endswith("/") or Path(path).is_dir():
        return "markdown"
    return _SUFFIXES.get(Path(path).suffix.lower(), "jsonl")


class _File:
    """A file, or the standard output."""

    def __init__(self, path: str | None) -> None:
        self._path = None if path == "-" else path
        self._file: TextIO = sys.stdout

    @property
    def is_terminal(self) -> bool:
        return self._path is None and self._file.isatty()

    def open(self) -> None:
        if self._path is not None:
            path = Path(self._path)
            with report_failure(path):
                self._file = path.open("w", encoding="utf-8", newline="")

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
        except BrokenPipeError:  # the reader has closed the pipe
            raise
        except OSError as error:
            raise click.ClickException(f"Cannot write to {self._file.name}: {error.strerror}.") from error


class JsonLinesFile(_File):
    def __init__(self, path: str | None, content: Content | None) -> None:
        super().__init__(path)
        self.content = content

    def put(self, pages: Sequence[ShownPage]) -> None:
        self._write(f"{msgspec.json.encode(page).decode()}\n" for page in pages)


class CsvFile(_File):
    content = None

    def open(self) -> None:
        super().open()
        self._write([csv_head()])

    def put(self, pages: Sequence[ShownPage]) -> None:
        self._write([csv_lines(pages)])


class MarkdownFolder(Struct, frozen=True):
    """Writes a file for each page with the outcome `ok`: front matter, and then the content."""

    folder: Path
    content: Content = "markdown"
    is_terminal: bool = False

    def open(self) -> None:
        with report_failure(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    def put(self, pages: Sequence[ShownPage]) -> None:
        for page in pages:
            if page.content and page.outcome == Outcome.OK:
                text = _front_matter(page) + page.content
                write(self.folder / file_name(page.url, "markdown"), text.encode())

    def close(self) -> None:
        """Each file was closed when it was written."""


def _front_matter(page: ShownPage) -> str:
    known = {
        "title": page.title,
        "url": page.final_url,
        "description": page.description,
        "language": page.language,
        "crawledAt": page.crawled_at,
    }
    # Every JSON string is a YAML string too.
    lines = [f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in known.items() if value]
    return f"---\n{''.join(lines)}---\n\n"
