"""Clients of other products, in an environment of their own, as requirements/clients.txt locks them."""

import fcntl
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "clients.txt"
FOLDER = ROOT / ".venv-clients"


def clients_python() -> Path:
    """The interpreter that has them, installed unless they are there already. Of processes that want them at
    once, one installs and the rest wait."""
    python, stamp = FOLDER / "bin" / "python", FOLDER / "installed"
    with LOCK.open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        wanted = f"{sys.version}\n{LOCK.read_text()}"
        if not stamp.exists() or stamp.read_text() != wanted:
            _uv("venv", "--clear", "--python", sys.executable, str(FOLDER))
            _uv("pip", "sync", "--require-hashes", "--python", str(python), str(LOCK))
            stamp.write_text(wanted)
    return python


def _uv(*arguments: str) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "--quiet", *arguments], cwd=ROOT, check=True)
