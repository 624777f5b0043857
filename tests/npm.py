"""What tests run on Node, as a package-lock.json names it.

It is installed beside npm's own cache and linked from here, so that a new copy of this tree, which has the
same locks, finds it. What has not been used for a month is removed when something else is installed.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

COMMAND: Final = [
    *("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"),
    *("--omit=dev", "--loglevel=error"),
]
FILES: Final = ("package.json", "package-lock.json")
KEPT_SECONDS: Final = 30 * 86_400
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-tests" / "node"


def install_packages(folder: Path) -> Path:
    """Unless they are there already: where they are. Of processes that want them at once, one installs and
    the rest wait."""
    home = CACHE / _digest(folder)
    home.mkdir(parents=True, exist_ok=True)
    with (home / "turn").open("w") as turn:  # which also says when it was last used
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (home / "node_modules" / ".package-lock.json").exists():  # npm writes it last
            _remove_unused()
            for name in FILES:
                shutil.copy(folder / name, home)
            subprocess.run(COMMAND, cwd=home, check=True)
        _link(folder / "node_modules", home / "node_modules")
    return home


def _digest(folder: Path) -> str:
    about = [platform.platform().encode(), *((folder / name).read_bytes() for name in FILES)]
    return hashlib.sha256(b"\0".join(about)).hexdigest()[:16]


def _remove_unused() -> None:
    for turn in CACHE.glob("*/turn"):
        with suppress(FileNotFoundError):  # another process removes it at the same time
            if turn.stat().st_mtime < time.time() - KEPT_SECONDS:
                shutil.rmtree(turn.parent, ignore_errors=True)


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    if link.is_dir() and not link.is_symlink():  # from before there was a cache
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(target)
