"""The table of log events has exactly those that the code writes."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEVELS = {"debug", "info", "warning", "error"}
# Events that are not the first argument of a call: the line of a request, and the layers of the fence.
COMPUTED = {"request", "browser_not_in_bubblewrap", "browser_not_in_netns", "browser_not_sandboxed"}


def written() -> set[str]:
    events: set[str] = set()
    for path in (ROOT / "src" / "gossamer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if _is_logging(node):
                name = node.args[0]  # type: ignore[attr-defined]
                events.add(name.value)
    return events


def _is_logging(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return False
    named = isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    return node.func.attr in LEVELS and named and "log" in ast.unparse(node.func.value)


def test_every_event_is_documented_with_what_to_do() -> None:
    text = (ROOT / "docs" / "operations" / "log-events.md").read_text("utf-8")
    documented = re.findall(r"^\| `(\w+)` \| (\w+) \| [^|]+ \| [^|]+ \|$", text, re.MULTILINE)
    assert [name for name, _ in documented] == sorted(name for name, _ in documented)
    assert {name for name, _ in documented} == written() | COMPUTED
    assert {level for _, level in documented} <= LEVELS
