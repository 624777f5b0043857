"""docs/compatibility.md names the versions that the tests run, and every client that they run."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "compatibility.md").read_text("utf-8")
ROW = re.compile(r"(?m)^\| \[`([^`]+)`\]\(([^)]+)\)[^|]*\| ([\d.]+) \| `([^`]+)` \|$")
ROWS: list[tuple[str, str, str, str]] = ROW.findall(TEXT)
# What the clients are put into, and what carries them; not clients themselves.
CARRIERS = {"express", "@solana/kit", "@x402/evm", "@x402/svm", "viem"}


def locked(lock: str, name: str) -> str | None:
    """The version of a package in a lock of Python or of Node."""
    text = (ROOT / lock).read_text("utf-8")
    if lock.endswith(".json"):
        found = json.loads(text)["packages"].get(f"node_modules/{name}", {}).get("version")
        return None if found is None else str(found)
    pinned = re.search(rf"(?m)^{re.escape(name)}(?:\[[^]]*\])?==(\S+)", text)
    return pinned and pinned[1]


@pytest.mark.parametrize(
    ("name", "page", "version", "lock"), ROWS, ids=[f"{row[0]}-{row[2]}" for row in ROWS]
)
def test_the_version_is_the_locked_one(name: str, page: str, version: str, lock: str) -> None:
    assert locked(lock, name) == version


def test_every_client_that_is_locked_is_named() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    group = project[project.index("clients = [") :]
    clients = set(re.findall(r'"([\w-]+)[\[>=]', group[: group.index("\n]")]))
    for lock in {row[3] for row in ROWS if row[3].endswith(".json")}:
        clients |= set(json.loads((ROOT / lock).read_text("utf-8"))["packages"][""]["dependencies"])
    assert clients - CARRIERS == {row[0] for row in ROWS} - {"anthropic"}


def test_every_page_about_another_product_is_linked() -> None:
    linked = set(re.findall(r"\]\((coming-from/[\w-]+\.md)\)", TEXT))
    assert linked == {f"coming-from/{page.name}" for page in (ROOT / "docs" / "coming-from").iterdir()}
