"""Packages that only some settings need: a missing one is one sentence that says what to install."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gossamer.settings.extras import EXTRAS

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


@pytest.mark.parametrize(
    ("extra", "module", "environment"),
    [
        ("postgres", "asyncpg", {"GOSSAMER_DATABASE_URL": "postgresql://127.0.0.1:9/none"}),
        ("redis", "hiredis", {"GOSSAMER_REDIS_URL": "redis://127.0.0.1:9"}),
        ("s3", "obstore", {"GOSSAMER_BLOBS_URL": "s3://bucket"}),
        ("llm", "anthropic", {"GOSSAMER_ANTHROPIC_API_KEY": "sk-ant-none"}),
        ("embeddings", "numpy", {"GOSSAMER_EMBEDDINGS_MODEL": "none"}),
        ("local-embeddings", "tokenizers", {"GOSSAMER_EMBEDDINGS_MODEL": "local:/nowhere"}),
    ],
)
def test_a_missing_package_is_one_sentence(
    tmp_path: Path, extra: str, module: str, environment: dict[str, str]
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    program = (
        f"import sys; sys.modules[{module!r}] = None; sys.argv = ['gossamer', 'serve'];"
        "from gossamer.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**clean, "GOSSAMER_DATA_DIR": str(tmp_path), "GOSSAMER_PORT": "0", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert f"pip install 'gossamer[{extra}]'" in done.stderr


def test_every_extra_that_is_asked_for_can_be_installed() -> None:
    declared = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    assert {extra.name for extra in EXTRAS} <= set(declared)
    for extra in EXTRAS:
        assert any(package.replace("-", "_").startswith(extra.module) for package in declared[extra.name])


def test_what_is_not_switched_on_is_not_imported() -> None:
    program = "import sys, gossamer.app; print([name for name in sys.modules if 'embedding' in name])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr
