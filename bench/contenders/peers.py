"""Peers that are not in this project's lock: each in a virtual environment of its own, made once and kept."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.servers import ROOT

KEPT: Final = ROOT / ".bench"
INSTALL_SECONDS: Final = 600.0


class PeerError(Exception):
    """The peer cannot be had here; says why."""


def python_with(package: str, *more: str) -> Path:
    """The interpreter of an environment that has the package and what makes it better. `rm -r .bench` gets
    the newest next time."""
    home = KEPT / package
    python = home / "bin" / "python"
    mark, wanted = home / "installed", "\n".join((package, *more))
    if not mark.exists() or mark.read_text() != wanted:
        print(f"installing {package} into {home.relative_to(ROOT)}", file=sys.stderr, flush=True)
        shutil.rmtree(home, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(home)])
        _install((package, *more), python)
        mark.write_text(wanted)
    return python


def _install(packages: Sequence[str], python: Path) -> None:
    # uv is many times faster, but does not know pip's configuration, which may be what leads to the packages.
    uv = Path(sys.executable).parent / "uv"
    try:
        _run([str(uv), "pip", "install", "--quiet", "--python", str(python), *packages])
    except PeerError:
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=INSTALL_SECONDS)
    except subprocess.CalledProcessError as error:
        raise PeerError((error.stderr.strip().splitlines() or [str(error)])[-1]) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(str(error)) from None
