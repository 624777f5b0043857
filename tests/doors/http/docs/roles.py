"""Writes `docs/roles.md`, whose table is made from the routes.

.venv/bin/python -m tests.doors.http.docs.roles
"""

import asyncio
import io
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from gossamer.app import Service
from gossamer.assembly.api import Api, routes
from gossamer.assembly.dashboard import dashboard_routes, open_dashboard
from gossamer.doors.http.core.routing import Route
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings
from gossamer.state.tenants.tenants import Role

DOCUMENT = Path(__file__).parents[4] / "docs" / "roles.md"
HEAD = """# Roles

A caller has one of four roles, and may do what the roles before it may.

| role | who has it |
|---|---|
| `nobody` | a request without a key or a session |
| `viewer` | somebody who opened a link that shows usage |
| `user` | an API key, a person who has signed in, a wallet that pays |
| `admin` | an API key or a person with that role |

Users see and change what belongs to their own tenant; admins see everything. What another tenant has is
answered with 404. A request that comes with a session's cookie and changes something must also name the
session's CSRF token.

Each route declares the role that it needs, and `tests/doors/http/test_roles.py` asks every one of them as
everybody. This table is made from the same declarations.

"""


def all_routes(service: Service) -> list[Route]:
    """Every route of the API and of the dashboard, with all that settings may turn on."""
    api = Api(service)
    return [*routes(service, api), *dashboard_routes(service, open_dashboard(service), api)]


def table(shown: Iterable[Route]) -> str:
    rows = sorted(shown, key=lambda route: (route.path, route.method))
    roles = list(Role)
    head = " | ".join(["request", *(f"`{role.value}`" for role in roles), "meaning"])
    lines = [f"| {head} |", f"|{'---|' * (len(roles) + 2)}"]
    for route in rows:
        marks = ["yes" if role.may(route.needs) else "" for role in roles]
        lines.append(f"| `{route.method} {route.path}` | {' | '.join(marks)} | {route.summary} |")
    return "\n".join(lines) + "\n"


async def document() -> str:
    with TemporaryDirectory() as folder:
        service = Service(Settings.load({}, None, {"data_dir": folder}), Log(io.StringIO()))
        try:
            shown = all_routes(service)
        finally:
            await service.close()
    pages = [route for route in shown if route.page]
    others = [route for route in shown if not route.page]
    return f"{HEAD}## The API\n\n{table(others)}\n## The dashboard\n\n{table(pages)}"


if __name__ == "__main__":
    DOCUMENT.write_text(asyncio.run(document()), "utf-8")
