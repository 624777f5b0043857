"""How the peers start Chromium: as they do by themselves, and so that it asks nobody outside."""

import os
from typing import Final

HEADLESS_SHELL: Final = "chromium-headless-shell"
CHROMIUM: Final = "chromium"
DEADLINE: Final = 30.0  # seconds for a page


def flags() -> list[str]:
    """No name is looked up. Root has no sandbox in Chromium, and a log that nobody reads fills a pipe."""
    quiet = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--log-level=3"]
    return [*quiet, "--no-sandbox"] if os.geteuid() == 0 else quiet
