"""Files that commands write what they have made to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click


def reserve(path: Path) -> None:
    """Before the work, whether its result can be written: hours of it may be in vain otherwise."""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        was_there = path.exists()
        path.open("ab").close()
        if not was_there:
            path.unlink()


def write(path: Path, content: bytes) -> None:
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error
