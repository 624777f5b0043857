"""What a process imports is what it does: starting costs a tenth of a second for every hundred modules."""

import subprocess
import sys
from typing import Final

import pytest

CASES: Final = {
    "the command line": (
        "gossamer.doors.cli, gossamer.__main__",
        ("gossamer.app", "sqlalchemy", "starlette"),
    ),
    "a worker": (
        "gossamer.app, gossamer.doors.cli.worker",
        (
            "gossamer.doors.http",
            "gossamer.assembly.layers",
            "uvicorn",
            "jinja2",
            "mcp",
            "openpyxl",
            "mammoth",
        ),
    ),
    "a server": (
        "gossamer.app, gossamer.doors.cli.serve",
        ("mcp", "openpyxl", "mammoth", "anthropic", "numpy", "pypdfium2", "snowballstemmer"),
    ),
}


@pytest.mark.parametrize("who", CASES)
def test_imports_only_what_it_needs(who: str) -> None:
    modules, forbidden = CASES[who]
    code = f"import sys, {modules}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    found = {
        name for name in loaded.split() for one in forbidden if name == one or name.startswith(f"{one}.")
    }
    assert found == set()
