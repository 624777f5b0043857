"""Writes the results of commands to files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from gossamer.web.url.url import Url, digest

_SUFFIXES: Final = {
    "markdown": ".md",
    "llm": ".md",
    "text": ".txt",
    "html": ".html",
    "rawHtml": ".html",
    "links": ".tsv",
    "images": ".txt",
}


def reserve(path: Path) -> None:
    """Check before hours of work that the result can be written."""
    with report_failure(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        was_there = path.exists()
        path.open("ab").close()
        if not was_there:
            path.unlink()


def write(path: Path, content: bytes) -> None:
    with report_failure(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@contextmanager
def report_failure(path: Path) -> Iterator[None]:
    """Name the file and the system's reason, as click does for files that it opens."""
    try:
        yield
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error


def file_name(url: str, shape: str) -> str:
    """A recognisable name that differs for different URLs."""
    parsed = Url.parse(url)
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in f"{parsed.host}{parsed.path}").strip("-.")
    return f"{name[:100]}-{digest(url)[:8]}{_SUFFIXES.get(shape, '.json')}"
