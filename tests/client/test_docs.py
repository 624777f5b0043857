"""The examples of docs/library.md and docs/memory.md run, at a local site and a local server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import gossamer
from tests.doors.fetches import say
from tests.doors.processes import ROOT
from tests.doors.services import ADMIN_KEY
from tests.site.server import Site

LIBRARY = (ROOT / "docs" / "library.md").read_text()
MEMORY = (ROOT / "docs" / "memory.md").read_text()
PAGE = """<!doctype html><title>An example</title><meta name="author" content="Somebody"><main>
<h1>An example</h1>
<p>Enough words to be a page that somebody would want to read, and then some more of them.</p></main>"""


def test_the_examples_run(server: str, site: Site, tmp_path: Path) -> None:
    url = site.url(say(PAGE))
    blocks = re.findall(r"```python\n(.*?)```", LIBRARY + MEMORY, re.DOTALL)
    assert len(blocks) == 6
    for name, shown in {
        "https://example.com/other": url,
        "https://example.com/": url,
        "https://gossamer.example.com": server,
        "sk_live_…": ADMIN_KEY,
    }.items():
        blocks = [block.replace(name, shown) for block in blocks]
    program = "\n".join(f"exec({block!r}, {{}})" for block in blocks)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")},
        "GOSSAMER_DATA_DIR": str(tmp_path),
        "GOSSAMER_EGRESS_ALLOW": "127.0.0.1/32",
        "GOSSAMER_EGRESS_PORTS": "*",
        "GOSSAMER_CRAWL_DELAY": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "An example ok\n# An example" in done.stdout
    assert "{'title': 'An example', 'author': 'Somebody'} ()" in done.stdout
    assert f"{url} done" in done.stdout
    assert f"200 {url}" in done.stdout
    assert "INVALID_URL" in done.stdout
    assert "notes **Silk** is **stronger** than steel." in done.stdout


def test_every_name_and_call_is_described() -> None:
    calls = {name for name in vars(gossamer.SyncClient) if not name.startswith("_")} - {"close"}
    for name in (set(gossamer.__all__) | calls) - {"Client", "SyncClient", "Payer", "__version__"}:
        assert re.search(rf"\b{name}\b", LIBRARY), name
