"""Packages of npm, by name and version: unpacked for their files, or installed with all they need to run."""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.contenders.peers import INSTALL_SECONDS, KEPT, PeerError

QUIETLY: Final = ("--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--silent")
TEXT: Final = frozenset({".js", ".mjs", ".css", ".html", ".json", ".md", ".svg"})


def unpacked(package: str, version: str) -> Path:
    """The files of the package alone, each text beside its compressed twin."""
    home = KEPT / "pages" / f"{package.replace('/', '+')}@{version}"
    if not (home / "unpacked").exists():
        _say(f"unpacking {package} {version}")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _npm(["pack", *QUIETLY, f"{package}@{version}"], home)
        (archive,) = home.glob("*.tgz")
        with tarfile.open(archive) as packed:
            packed.extractall(home, filter="data")
        compress(home / "package")
        (home / "unpacked").touch()
    return home / "package"


def installed(package: str, version: str) -> Path:
    """The folder of the package in a `node_modules` of its own."""
    home = KEPT / f"{package}@{version}"
    if not (home / "installed").exists():
        _say(f"installing {package} {version}")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        (home / "package.json").write_text("{}\n")
        _npm(["install", *QUIETLY, f"{package}@{version}"], home)
        (home / "installed").touch()
    return home / "node_modules" / package


def compress(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix in TEXT:
            file.with_name(file.name + ".gz").write_bytes(gzip.compress(file.read_bytes(), 6))


def _npm(words: Sequence[str], folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise PeerError("npm is not installed")
    environment = {**os.environ, "npm_config_cache": str(KEPT / "npm-cache")}
    try:
        done = subprocess.run(
            [npm, *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise PeerError(str(error)) from None
    if done.returncode:
        raise PeerError((done.stderr.strip().splitlines() or ["npm failed"])[-1])


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
