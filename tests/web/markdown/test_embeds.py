"""What a page shows from elsewhere, on a click, or as another's words, is in the Markdown."""

import pytest

from gossamer.web.content.article import extract

URL = "https://site.example/docs/page.html"
CASES = {
    "videos of YouTube": (
        "<iframe src='https://www.youtube-nocookie.com/embed/b_PXuEPxN50?rel=0' title='A [talk]'></iframe>",
        "[A [talk]](https://www.youtube.com/watch?v=b_PXuEPxN50)",
    ),
    "videos of Vimeo": (
        "<p>See</p><iframe data-src='//player.vimeo.com/video/457'></iframe>",
        "See\n\n[Video](https://vimeo.com/457)",
    ),
    "videos of the page": (
        "<video controls><source src=/v.mp4>No video.</video>",
        "[Video](https://site.example/v.mp4)",
    ),
    "pages with a title": (
        "<iframe src=/map title='Map of it'></iframe>",
        "[Map of it](https://site.example/map)",
    ),
    "pages without a title": ("<p>a<iframe src=/x></iframe>", "a"),
    "advertisements": ("<p>a<iframe src=/x title='Advertisement'></iframe>", "a"),
    "hidden pages": ("<p>a<iframe src=/x title='A map' style='display:none'></iframe>", "a"),
    "scripts": ("<p>a<iframe src='javascript:x()' title='A map'></iframe>", "a"),
    "panels of tabs": (
        "<i role=tab aria-controls=p></i><div role=tabpanel>One.</div><div id=p hidden>Two.</div>",
        "One.\n\nTwo.",
    ),
    "panels by their names": (
        "<div class='tab-pane active'>One.</div><div class=tab-pane style='display:none'>Two.</div>",
        "One.\n\nTwo.",
    ),
    "panels of an accordion": (
        "<h3><button aria-expanded=false aria-controls=a>Ask</button></h3><div id=a hidden>Answer.</div>",
        "Answer.",
    ),
    "until found": ("<p>a</p><div hidden=until-found>Found.</div>", "a\n\nFound."),
    "closed details": ("<details><summary>S</summary><p>a</details>", "**S**\n\na"),
    "hidden menus": ("<p>a</p><div id=m class='navbar-collapse collapse' hidden>Menu.</div>", "a"),
    "what is only hidden": ("<p>a</p><div hidden>Secret.</div>", "a"),
    "a quote's footer": (
        "<blockquote><p>Said.</p><footer>— Ann, <cite>A book</cite></footer></blockquote>",
        "> Said.\n>\n> — Ann, *A book*",
    ),
    "a quote's address": (
        "<blockquote cite='/said'><p>Said.</p></blockquote>",
        "> Said.\n>\n> — [site.example](https://site.example/said)",
    ),
    "a quote's address that it links to": (
        "<blockquote cite='/said'><p>Said.</p><a href=/said>There</a></blockquote>",
        "> Said.\n>\n> [There](https://site.example/said)",
    ),
    "a quote's caption": (
        "<figure><blockquote>Said.</blockquote><figcaption>— Ann</figcaption></figure>",
        "> Said.\n\n— Ann",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_markdown(name: str) -> None:
    html, expected = CASES[name]
    assert extract(html, URL, main_content=False).markdown == expected


def test_a_quote_keeps_its_footer_in_the_main_content() -> None:
    prose = "<p>" + "This is a sentence of the article, and it goes on. " * 12 + "</p>"
    html = f"<article>{prose}<blockquote><p>Said.</p><footer>Ann Other</footer></blockquote>{prose}</article>"
    assert "> Said.\n>\n> Ann Other" in extract(html, URL).markdown


def test_panels_stay_hidden_from_a_strict_reader() -> None:
    html = "<p>a</p><div role=tabpanel hidden>Two.</div>"
    assert extract(html, URL, main_content=False, unveil=False).markdown == "a"


def test_a_list_of_links_below_a_heading_of_the_main_element_is_content() -> None:
    prose = "<p>" + "This is a sentence of the page, and it goes on. " * 12 + "</p>"
    links = "".join(
        f"<li><a href='/{name}'>The {name} guide</a></li>" for name in ("first", "second", "third")
    )
    html = f"<main>{prose}<h2>Guides</h2><ul>{links}</ul>{prose}</main>"
    assert "## Guides\n\n- [The first guide](https://site.example/first)" in extract(html, URL).markdown
