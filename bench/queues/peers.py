"""The interpreters of the queues that are measured beside ours, each with the fast driver that it knows."""

import subprocess
from pathlib import Path

from bench.contenders.peers import PeerError, python_with


def procrastinate() -> Path:
    return _with(python_with("procrastinate"), "psycopg[binary]", "uvloop")


def pgqueuer() -> Path:
    return python_with("pgqueuer[asyncpg]")


def _with(python: Path, *more: str) -> Path:
    """pip knows by itself when there is nothing to do."""
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *more]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        raise PeerError((done.stderr.strip().splitlines() or ["pip failed"])[-1])
    return python
