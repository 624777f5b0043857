"""Commands are imported when they are asked for, and listed as they describe themselves."""

import subprocess
import sys
from importlib import import_module

import pytest

from gossamer.doors.cli import COMMANDS

SHORT = 62  # characters that fit beside the name of a command
HEAVY = """
import sys
sys.argv = ["gossamer", "--help"]
from gossamer.__main__ import main
main()
print(sorted({"sqlalchemy", "starlette", "uvicorn", "httpx", "gossamer.app"} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_where_the_table_says(name: str) -> None:
    place, about = COMMANDS[name]
    module, _, attribute = place.partition(":")
    command = getattr(import_module(module), attribute)
    assert (command.name, command.get_short_help_str(SHORT)) == (name, about)


def test_help_imports_no_service() -> None:
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True)
    assert "Commands:" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
