"""The command line, each time in a process of its own."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.forks.forked import Forked

SECONDS = 60.0


def gossamer(
    *arguments: str,
    folder: Path,
    check: bool = True,
    output: Path | None = None,
    given: str = "",
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """With these arguments, in this folder, where it also keeps its data. What it prints may go elsewhere."""
    whole = own_environment(folder, **environment)
    with _opened(output) as said:
        process = Forked(
            "gossamer",
            *arguments,
            env=whole,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.PIPE,
        )
    try:
        out, err = process.communicate(given, timeout=SECONDS)
    finally:
        process.kill()
    done = subprocess.CompletedProcess(arguments, process.wait(), out, err)
    assert not check or done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def own_environment(folder: Path, **more: str) -> Mapping[str, str]:
    """Ours without settings, and this folder for its data."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return {**clean, "GOSSAMER_DATA_DIR": str(folder), **more}


@contextmanager
def _opened(output: Path | None) -> Iterator[int]:
    if output is None:
        yield subprocess.PIPE
    else:
        with output.open("wb") as file:
            yield file.fileno()
