"""Word lists are data files that stand beside their module and are part of the wheel."""

from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from gossamer.web.content.main import boilerplate
from gossamer.web.extract.schema.concepts import concept_of
from gossamer.web.extract.value_spec import ValueSpec
from gossamer.web.html.vocabulary import any_of, read_lines, read_sections
from gossamer.web.outcome import signs

ROOT = Path(__file__).parents[3]
FILES = [
    ("gossamer.web.content.main", "boilerplate.txt"),
    ("gossamer.web.content.main", "weights.txt"),
    ("gossamer.web.extract.schema", "concepts.txt"),
    ("gossamer.web.extract.sources", "forms.txt"),
    ("gossamer.web.outcome", "marks.txt"),
    ("gossamer.web.outcome", "phrases.txt"),
]


def test_the_wheel_has_every_data_file() -> None:
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    beside = {
        str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "gossamer" / "web").rglob("*.txt")
    }
    assert {f"{package.replace('.', '/')}/{name}" for package, name in FILES} <= beside
    assert beside <= packed


@pytest.mark.parametrize(("package", "name"), FILES)
def test_lines_are_entries(package: str, name: str) -> None:
    lines = read_lines(package, name)
    assert lines
    assert not any(line.startswith("#") or line.endswith(("\\", " ", "\t")) for line in lines)


def test_sections_have_their_entries() -> None:
    sections = read_sections("gossamer.web.outcome", "marks.txt")
    assert list(sections)[:5] == ["wall_headers", "wall_markup", "sensors", "captchas", "parking_markup"]
    assert sections["wall_headers"][0] == "cf-mitigated challenge|block"


def test_a_backslash_continues_a_line() -> None:
    phrases = read_sections("gossamer.web.outcome", "phrases.txt")["loading_titles"]
    assert len(phrases) == 2
    assert signs.LOADING_TITLES.fullmatch("one moment please")


def test_tables_are_in_use() -> None:
    assert signs.WALL_MARKUP["cloudflare"][1] == "_cf_chl_"
    assert boilerplate.boilerplate_rank("relatedPosts") == 2
    assert boilerplate.article_rank("article-body") == 3
    price = concept_of(ValueSpec(name="sale_price"))
    assert price is not None
    assert price.name == "price"


def test_any_of_some_texts_is_found_and_nothing_else() -> None:
    pattern = any_of(["read more", "read", "re(a)", "share", "© 20"])
    found = [
        bool(pattern.search(line)) for line in ("a reader", "re(a)", "rea", "to share", "© 19", "© 2024")
    ]
    assert found == [True, True, False, True, False, True]
