"""Names and folders: one meaning for a class name, a line for each package, few entries in a folder."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "gossamer"
MAX_ENTRIES = 16
ROOMS = {"flows", "state", "web"}  # these show a folder for each capability, by the same names
MAX_CAPABILITIES = 20
UNSEEN = {"versions", "__pycache__", "__init__.py", "__main__.py", "py.typed"}


def test_a_class_name_is_used_once() -> None:
    places = defaultdict(list)
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(file.relative_to(SOURCE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_every_package_says_what_it_holds() -> None:
    silent = [
        file for file in SOURCE.rglob("__init__.py") if not ast.get_docstring(ast.parse(file.read_text()))
    ]
    assert silent == []


def test_no_folder_shows_more_than_can_be_seen_at_once() -> None:
    shown = defaultdict(set)  # by folder; what earlier layouts have left in caches is not shown
    for file in SOURCE.rglob("*"):
        parts = file.relative_to(SOURCE).parts
        if file.is_file() and not UNSEEN & set(parts):
            for depth, name in enumerate(parts):
                shown["/".join(parts[:depth])].add(name)
    most = {name: MAX_CAPABILITIES if name in ROOMS else MAX_ENTRIES for name in shown}
    assert {name for name, entries in shown.items() if len(entries) > most[name]} == set()


def test_values_are_structs() -> None:
    """A dataclass takes fifty times as long to declare and ten times as long to make. It is for what a struct
    cannot do: keep a field out of `repr`, of the constructor or of comparisons."""
    plain = [
        node.name
        for file in SOURCE.rglob("*.py")
        if "middleware" not in file.parts  # it stands alone, without msgspec
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef) and not node.bases
        for decorator in map(ast.unparse, node.decorator_list)
        if decorator.startswith("dataclass(") and "slots=True" in decorator and "repr=False" not in decorator
        if not any(word in ast.unparse(node) for word in ("repr=False", "init=False", "compare=False"))
    ]
    assert plain == []
