"""Runs examples as people run them, at one server for all of them."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.doors.services import ADMIN_KEY
from tests.programs import ROOT, Run, run

EXAMPLES: Final = ROOT / "examples"
HERE: Final = {  # for those that need no server
    "GOSSAMER_EGRESS_ALLOW": "127.0.0.1/32",
    "GOSSAMER_EGRESS_PORTS": "*",
    "GOSSAMER_CRAWL_DELAY": "0",
    "GOSSAMER_LOG_LEVEL": "error",
}


def environment(folder: Path, server: str = "") -> dict[str, str]:
    """Of a program, in which nothing is set by accident."""
    named = {"GOSSAMER_SERVER": server, "GOSSAMER_KEY": ADMIN_KEY} if server else HERE
    passed = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**passed, "PYTHONPATH": str(ROOT / "src"), "GOSSAMER_DATA_DIR": str(folder), **named}


async def run_example(
    environ: Mapping[str, str], name: str, *arguments: str | Path, python: Path | None = None
) -> Run:
    return await run(environ, python or sys.executable, EXAMPLES / name, *arguments)
