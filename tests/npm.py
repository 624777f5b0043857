"""What tests run on Node, as its package-lock.json names it."""

import fcntl
import os
import subprocess
from pathlib import Path

COMMAND = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]


def install_packages(folder: Path) -> None:
    """Unless they are there already. Of processes that want them at once, one installs and the rest wait."""
    lock, installed = folder / "package-lock.json", folder / "node_modules" / ".package-lock.json"
    with lock.open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            subprocess.run(COMMAND, cwd=folder, check=True)
            os.utime(installed)
