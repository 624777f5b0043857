"""The command `gossamer`."""

import sys
from typing import Any


def main() -> None:
    if sys.argv[1:2] == ["mcp"]:  # which answers its client before the rest is loaded
        from gossamer.doors.mcp.stdio.command import mcp

        mcp.main(sys.argv[2:], prog_name="gossamer mcp", obj=_build)
    from gossamer.doors.cli import run

    run(_build)


def _build(*parts: Any) -> Any:
    """Many commands need no service, and importing it takes a second."""
    from gossamer.doors.cli.shared.lazy import quick_imports

    with quick_imports():
        from gossamer.app import Service
    return Service(*parts)


if __name__ == "__main__":
    main()
