"""How the peers start Chromium: as they do by themselves, and so that it asks nobody outside."""

import os
import shutil
from pathlib import Path
from typing import Final

HEADLESS_SHELL: Final = "chromium-headless-shell"
CHROMIUM: Final = "chromium"
PROGRAMS: Final = Path("/usr/lib/chromium")  # where Debian has what its scripts start
DEADLINE: Final = 30.0  # seconds for a page


def program(*names: str) -> str | None:
    """The first that is installed, itself and not a script around it.

    Debian's script for the headless shell waits for it, so whoever ends the script, as prerender does when it
    wants a fresh browser, leaves the old one running and waits for ever.
    """
    for name in names:
        behind = PROGRAMS / name
        if found := str(behind) if os.access(behind, os.X_OK) else shutil.which(name):
            return found
    return None


def flags() -> list[str]:
    """No name is looked up. Root has no sandbox in Chromium, and a log that nobody reads fills a pipe."""
    quiet = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--log-level=3"]
    return [*quiet, "--no-sandbox"] if os.geteuid() == 0 else quiet
