"""Writes the results of commands to files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click


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
