"""The snippets say the same as the package, and what they show is true."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.middleware.rules import ASSETS, MARK, PASSED_ON, ROBOTS
from gossamer.web.robots.bots import BOTS, LINK_PREVIEWS, SEARCH_ENGINES
from tests.integrations.fronts import SNIPPETS


def words(text: str, start: str, end: str) -> list[str]:
    part = text[text.index(start) : text.index(end, text.index(start))]
    return re.findall(r'"([^"\n]+)"', part)


def test_there_is_one_list_of_robots() -> None:
    listed = [robot.token for robot in (*BOTS, *SEARCH_ENGINES, *LINK_PREVIEWS)]
    assert list(ROBOTS) == listed
    assert len({token.lower() for token in listed}) == len(listed)
    # No word of a pattern means anything else than itself, in any of the languages.
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", token) for token in listed)


def test_javascript_has_it() -> None:
    text = (SNIPPETS / "gossamer-bots.js").read_text()
    assert words(text, "const ROBOTS", "];") == list(ROBOTS)
    assert words(text, "const ASSETS", "]);") == list(ASSETS)
    # fetch has decoded the body: these two would no longer be true.
    decoded = {"content-encoding", "content-length"}
    assert set(words(text, "const PASSED_ON", "];")) == PASSED_ON - decoded
    assert f'"{MARK}"' in text


def test_nginx_has_it() -> None:
    text = (SNIPPETS / "nginx.conf").read_text()
    block = text[text.index("$gossamer_robot {") : text.index("# The address")]
    patterns = re.findall(r'"~\*([^"]+)" 1;', block)
    assert [token for pattern in patterns for token in pattern.split("|")] == list(ROBOTS)
    assets = re.search(r"\\\.\(([a-z0-9|]+)\)", text)
    assert assets is not None
    assert assets[1].split("|") == list(ASSETS)
    assert f"$http_{MARK.replace('-', '_')}" in text


def test_readme_names_every_snippet() -> None:
    readme = (SNIPPETS / "README.md").read_text()
    for snippet in SNIPPETS.iterdir():
        assert snippet.name == "README.md" or f"]({snippet.name})" in readme


@pytest.mark.parametrize("block", range(2))
def test_python_in_the_readme_runs(block: int, tmp_path: Path) -> None:
    shown = re.findall(r"```python\n(.*?)```", (SNIPPETS / "README.md").read_text(), re.DOTALL)
    assert len(shown) == 2
    (tmp_path / "shown.py").write_text(shown[block])
    environ = {"PATH": "", "GOSSAMER_KEY": "sk_live_test"}
    done = subprocess.run([sys.executable, "-W", "error", "shown.py"], cwd=tmp_path, env=environ, timeout=60)
    assert done.returncode == 0


def test_nothing_of_the_server_is_loaded() -> None:
    code = (
        "import sys; before = set(sys.modules); import gossamer.middleware.asgi, gossamer.middleware.wsgi; "
    )
    code += "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('_')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded <= {*sys.stdlib_module_names, "gossamer"}
    ours = {name for name in done.stdout.split() if name.startswith("gossamer")}
    assert {name for name in ours if not name.startswith("gossamer.middleware")} == {
        "gossamer",
        "gossamer.web",
        "gossamer.web.robots",
        "gossamer.web.robots.bots",
    }
