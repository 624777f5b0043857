"""The command `gossamer`."""

import sys
from importlib import import_module
from typing import Any


def main() -> None:
    if sys.argv[1:2] == ["mcp"]:  # which answers its client before the rest is loaded
        from gossamer.doors.mcp.stdio.command import mcp

        mcp.main(sys.argv[2:], prog_name="gossamer mcp", obj=_build)
    if sys.argv[1:] == ["fork-server"]:
        from gossamer.doors.worker.fork_server import become_child

        _service()
        import_module("gossamer.doors.cli.worker")  # the command of every child
        become_child()  # goes on as the command that it was asked for
    from gossamer.doors.cli import run

    run(_build)


def _build(*parts: Any) -> Any:
    """Many commands need no service, and importing it takes a second."""
    return _service()(*parts)


def _service() -> Any:
    from gossamer.doors.cli.shared.lazy import quick_imports

    with quick_imports():
        from gossamer.app import Service
    return Service


if __name__ == "__main__":
    main()
