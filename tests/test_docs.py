"""The documents name modules, files and headings that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gossamer"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"])
ROOM_PATH = re.compile(r"`(?:src/gossamer/)?((?:web|reach|state|flows|doors|middleware)/[\w./-]*)(?:\(\))?`")
LINK = re.compile(r"\]\((?!\w+:|/)([^)#\s]*)(?:#([^)\s]+))?\)")


def in_package(path: str) -> bool:
    """`web/url` is a folder, `web/url/url` a module, and `web/url/url.Url` a name in a module."""
    place = PACKAGE / path.rstrip("/")
    folder, module = place.parent, place.name.partition(".")[0]
    if place.suffix == ".py" or "." not in place.name:
        return place.exists() or place.with_suffix(".py").exists()
    return place.exists() or (folder / f"{module}.py").exists()


def headings(text: str) -> Iterator[str]:
    """Each heading as GitHub spells it in an address."""
    for heading in re.findall(r"(?m)^#+ (.+)$", text):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_that_a_document_names_exists(document: Path) -> None:
    named = set(ROOM_PATH.findall(document.read_text("utf-8")))
    assert sorted(path for path in named if not in_package(path)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    broken = []
    for path, heading in LINK.findall(document.read_text("utf-8")):
        target = (document.parent / path) if path else document
        if not target.exists() or (heading and heading not in set(headings(target.read_text("utf-8")))):
            broken.append(f"{path}#{heading}")
    assert broken == []


def test_every_class_of_the_glossary_exists_and_is_explained_once() -> None:
    nouns = re.findall(r"(?m)^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text("utf-8"))
    named = re.findall(r"[A-Z][a-z]+[A-Z]\w*", " ".join(nouns))
    sources = "\n".join(file.read_text("utf-8") for file in PACKAGE.rglob("*.py"))
    assert named
    assert sorted(set(named)) == sorted(named)
    assert sorted(set(named) - set(re.findall(r"(?m)^(?:class|type) (\w+)", sources))) == []


def test_a_module_that_is_not_there_is_noticed() -> None:
    assert in_package("web/url")
    assert in_package("web/url/url")
    assert in_package("web/url/url.Url")
    assert in_package("web/url/url.py")
    assert not in_package("web/url/nowhere")
    assert not in_package("web/url/nowhere.Url")
    assert ROOM_PATH.findall("`state/db` and `src/gossamer/web/url/url.py`") == ["state/db", "web/url/url.py"]
