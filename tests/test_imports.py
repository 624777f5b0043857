"""What a process imports is what it does: starting costs a tenth of a second for every hundred modules, and
each of them stays in memory."""

import subprocess
import sys
from pathlib import Path
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

# A server of the usual kind: everything that `gossamer serve` opens, and a request for its health.
SERVER: Final = """
import asyncio, io, sys
import gossamer.doors.cli.serve
from gossamer.app import Service
from gossamer.doors.http.core.in_process import InProcess
from gossamer.client.transport import Call
from gossamer.flows.tenants.admit import Caller
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings
from gossamer.state.tenants.tenants import Role

async def main(folder, *paths):
    async with Service(Settings.load({}, None, {"data_dir": folder}), Log(io.StringIO())) as service:
        app = service.app()
        service.worker(), service.fast_path()
        service.watch.start(service.supervisor, service.wakeups)
        for path in paths:
            reply = await InProcess(app, Caller(Role.ADMIN)).send(Call("GET", path))
            assert reply.status == 200, (path, reply.status)

asyncio.run(main(*sys.argv[1:]))
print(*sys.modules)
"""
AT_REST: Final = (  # what a server has no use for until it is asked
    "cryptography",
    "fsspec",
    "jinja2",
    "sqlalchemy.orm",
    "warcio",
    "websockets",
    "gossamer.assembly.dashboard",
    "gossamer.assembly.payments",
    "gossamer.doors.http.api.crawl",
    "gossamer.doors.http.api.pages",
    "gossamer.doors.http.dashboard",
    "gossamer.doors.http.docs.openapi",
    "gossamer.doors.http.docs.pages",
    "gossamer.doors.http.dropin",
    "gossamer.doors.mcp",
    "gossamer.flows.data.warc.exporter",
    "gossamer.web.audit.audit",
    "gossamer.web.audit.checks",
)

# Nothing waits for the first request to fail: every module can be imported, and has what others want of it.
EVERYTHING: Final = """
import ast, importlib, pkgutil, sys
import gossamer

missing = []
for found in pkgutil.walk_packages(gossamer.__path__, "gossamer."):
    if found.name.endswith(".__main__") or ".migrations." in found.name:  # are run, not imported
        continue
    if found.name == "gossamer.scrapy":  # for users who have it
        continue
    module = importlib.import_module(found.name)
    with open(module.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("gossamer"):
            continue
        source = importlib.import_module(node.module)
        for name in node.names:
            try:
                hasattr(source, name.name) or importlib.import_module(f"{node.module}.{name.name}")
            except ModuleNotFoundError:
                missing.append(f"{found.name}: {node.module}.{name.name}")
print(*missing, sep="\\n")
"""


def run(code: str, *arguments: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def among(loaded: str, names: tuple[str, ...]) -> set[str]:
    return {name for name in loaded.split() for one in names if name == one or name.startswith(f"{one}.")}


@pytest.mark.parametrize("who", CASES)
def test_imports_only_what_it_needs(who: str) -> None:
    modules, forbidden = CASES[who]
    assert among(run(f"import sys, {modules}; print(*sys.modules)"), forbidden) == set()


def test_a_server_at_rest_has_imported_no_subject(tmp_path: Path) -> None:
    assert among(run(SERVER, tmp_path, "/health/live", "/health/ready"), AT_REST) == set()


def test_a_request_imports_its_subject_alone(tmp_path: Path) -> None:
    loaded = run(SERVER, tmp_path, "/api/crawls")
    assert "gossamer.doors.http.api.crawl.crawls" in loaded.split()
    api = "gossamer.doors.http.api"
    assert among(loaded, (f"{api}.pages", f"{api}.sites", "gossamer.doors.http.dashboard")) == set()


def test_every_module_can_be_imported_and_has_what_is_imported_from_it() -> None:
    assert run(EVERYTHING).split() == []
