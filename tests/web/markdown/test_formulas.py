"""Formulas as TeX, from MathML, from what KaTeX and MathJax draw, and from scripts, images and source."""

import pytest
from tests.web.markdown.forms import read_forms

from gossamer.web.content.article import extract

URL = "https://site.example/docs/page.html"


def md(html: str) -> str:
    return extract(html, URL, main_content=False).markdown


FORMS = read_forms("formula_forms.txt")


@pytest.mark.parametrize("form", FORMS)
def test_a_formula_is_kept(form: str) -> None:
    html, expected = FORMS[form]
    assert md(html) == expected


def test_comments_in_a_formula_end_with_their_line() -> None:
    assert md("<p>so <script type='math/tex; mode=display'>x % why\n+1</script>") == "so $$x +1$$"


@pytest.mark.parametrize(
    "inside",
    [
        "<mrow>" * 3_000 + "<mi>x</mi>" + "</mrow>" * 3_000,
        "<msup><mi>x</mi>" * 1_500 + "</msup>" * 1_500,
        "<mi>x</mi><mo>+</mo>" * 30_000,
        f"<mtable>{'<mtr>' + '<mtd><mi>a</mi></mtd>' * 20 + '</mtr>' * 1}</mtable>" * 500,
    ],
    ids=["deep rows", "deep powers", "long", "tables"],
)
def test_a_hostile_formula_is_bounded(inside: str) -> None:
    assert "x" in md(f"<p>x <math>{inside}</math>")
