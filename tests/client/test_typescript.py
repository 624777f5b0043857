"""A TypeScript client that is generated from our OpenAPI document compiles, strictly, and works."""

import asyncio
import json
import subprocess
from pathlib import Path

import httpx

from tests.doors.fetches import say
from tests.doors.services import ADMIN_KEY
from tests.npm import install_packages
from tests.site.server import Site

NODE = Path(__file__).parent / "node"
COMPILE = ["--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022"]


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def test_a_generated_client_compiles_and_works(server: str, site: Site, tmp_path: Path) -> None:
    await asyncio.to_thread(install_packages, NODE)
    url = site.url(say('<title>Typed</title><main><p>Words and <a href="/a">a link</a> to read.</p></main>'))
    document = tmp_path / "openapi.json"
    async with httpx.AsyncClient() as client:
        document.write_bytes((await client.get(f"{server}/openapi.json")).content)
    built = NODE / ".built"
    built.mkdir(exist_ok=True)
    (built / "use.ts").write_text((NODE / "use.ts").read_text())
    # An option with a default may be left out of a request.
    generate = ("node_modules/.bin/openapi-typescript", "--default-non-nullable", "false")
    await asyncio.to_thread(run, *generate, str(document), "-o", str(built / "api.d.ts"))
    await asyncio.to_thread(run, "node_modules/.bin/tsc", *COMPILE, str(built / "use.ts"))
    shown = await asyncio.to_thread(run, "node", str(built / "use.js"), server, ADMIN_KEY, url)
    assert json.loads(shown) == {
        "title": "Typed",
        "links": 1,
        "results": 0,
        "total": 1,
        "crawls": 0,
        "code": "INVALID_URL",
    }
