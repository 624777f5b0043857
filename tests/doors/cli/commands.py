"""The command line, each time in a process of its own.

They are forked from one that has everything imported, so that a command starts at once.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from gossamer import app  # noqa: F401 - what is forked has it

SECONDS = 60.0


def gossamer(
    *arguments: str, folder: Path, check: bool = True, output: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """With these arguments, in this folder, where it also keeps its data. What it prints may go elsewhere."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    whole = {**clean, "GOSSAMER_DATA_DIR": str(folder), **environment}
    with TemporaryDirectory() as kept:
        said = (Path(kept, "out"), Path(kept, "err"))
        said[0].touch()
        code = _ended(arguments, folder, whole, (output or said[0], said[1]))
        done = subprocess.CompletedProcess(arguments, code, *(path.read_text("utf-8") for path in said))
    assert not check or done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def _ended(
    arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str], said: tuple[Path, Path]
) -> int:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_command, args=(arguments, folder, environment, said))
    process.start()
    process.join(SECONDS)
    if process.exitcode is None:
        process.kill()
        raise AssertionError(f"gossamer {' '.join(arguments)} does not end: {said[1].read_text()}")
    return process.exitcode


def _command(
    arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str], said: tuple[Path, Path]
) -> None:
    for number, path in enumerate(said, start=1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["gossamer", *arguments]
    runpy.run_module("gossamer", run_name="__main__", alter_sys=True)
