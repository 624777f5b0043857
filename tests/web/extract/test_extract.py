"""A page becomes an article: the right part of it, all of that part, and nothing makes it fail."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.problems import INVALID_SELECTOR, Problem
from gossamer.web.content.article import Article, extract
from gossamer.web.content.content_warning import ContentWarning

URL = "https://span.example/news/today/how-bridges-breathe"
ARTICLE = (Path(__file__).parents[1] / "pages" / "article.html").read_text()
PROSE = "<p>" + "This is a sentence, and here is another one that says a little more. " * 4 + "</p>"


def of(html: str, *, main_content: bool = True) -> Article:
    return extract(html, URL, main_content=main_content)


def test_main_content_is_the_article_and_only_that() -> None:
    article = of(ARTICLE)
    for kept in (
        "A long bridge grows in summer",
        "How wide is a gap?",
        "| Humber | 2.2 m |",
        "taken up by the mortar",
    ):
        assert kept in article.markdown
    for gone in (
        "Sport",
        "Share this",
        "Buy our steel",
        "Related stories",
        "cranes",
        "I never knew",
        "rights reserved",
        "never",
        "scripts",
    ):
        assert gone not in article.markdown
    assert article.warning is not ContentWarning.WHOLE_PAGE
    assert not article.cut


def test_the_headline_stays_although_it_stands_before_the_body() -> None:
    article = of(ARTICLE)
    assert article.markdown.startswith("# How bridges breathe\n\nA long bridge")
    assert article.text.startswith("A long bridge")


def test_text_has_no_markup_and_no_captions() -> None:
    text = of(ARTICLE).text
    assert "expansion joints: combs of steel" in text
    assert "seen from below" not in text
    assert "seen from below" in of(ARTICLE).markdown


def test_html_keeps_what_is_said_and_nothing_that_runs_or_loads() -> None:
    html = of(ARTICLE).html
    assert '<a href="https://span.example/news/teeth">an earlier report</a>' in html
    assert '<img src="https://span.example/news/joint.jpg" alt="A joint">' in html
    for gone in ("script", "class=", "style", "data-src", "data:"):
        assert gone not in html


def test_links_are_those_of_the_whole_page_once_each() -> None:
    links = of(ARTICLE).links
    urls = [link.url for link in links]
    assert urls[:2] == ["https://span.example/", "https://span.example/world"]
    assert "https://span.example/news/teeth" in urls
    assert len(urls) == len(set(urls))


def test_the_full_page_on_request() -> None:
    article = of(ARTICLE, main_content=False)
    for kept in ("Sport", "A long bridge grows in summer", "Ferries float", "rights reserved"):
        assert kept in article.markdown
    assert "scripts" not in article.markdown
    assert article.warning is not ContentWarning.WHOLE_PAGE


def test_include_and_exclude_are_selectors() -> None:
    article = extract(ARTICLE, URL, include=["article h2", "aside"], exclude=["aside h3"])
    assert (
        article.markdown
        == "## How wide is a gap?\n\nTen things you never knew about cranes, and one that you did know."
    )
    assert "Humber" not in extract(ARTICLE, URL, exclude=["table"]).markdown


@pytest.mark.parametrize("selector", ["div[", "//article", "p:contains(x)", "", "@"])
def test_what_is_not_a_selector_is_refused(selector: str) -> None:
    with pytest.raises(Problem) as problem:
        extract(ARTICLE, URL, include=[selector])
    assert problem.value.kind is INVALID_SELECTOR
    assert repr(selector) in problem.value.detail


def test_too_little_content_gives_the_whole_page_and_says_so() -> None:
    article = of(
        "<nav>" + "".join(f"<a href=/{n}>Place {n}</a> " for n in range(60)) + "</nav><main><p>Hi.</main>"
    )
    assert article.warning is ContentWarning.WHOLE_PAGE
    assert "Place 59" in article.markdown


def test_what_is_called_a_comment_is_the_content_where_there_is_no_other() -> None:
    article = of(f"<div class=comments><h2>Thread</h2>{PROSE}{PROSE}</div>")
    assert "This is a sentence" in article.markdown
    assert article.warning is not ContentWarning.WHOLE_PAGE


def test_the_first_of_many_articles_is_the_one_that_the_page_is_named_after() -> None:
    articles = "".join(f"<article><h1>Report {n}</h1>{PROSE * 4}<p>End of {n}.</p></article>" for n in "ABC")
    article = of(f"<title>Report A | Site</title><main>{articles}</main>")
    assert "End of A" in article.markdown
    assert "End of B" not in article.markdown


def test_names_inside_code_are_colours_not_content() -> None:
    page = of(f"<article>{PROSE}<pre><span class=comment># a remark</span>\nrun()</pre>{PROSE}</article>")
    assert "# a remark\nrun()" in page.markdown


def test_a_page_hidden_until_its_script_has_run_is_shown() -> None:
    assert "This is a sentence" in of(f"<div style='visibility: hidden'>{PROSE * 5}</div>").markdown


@pytest.mark.parametrize(
    "html",
    [
        "<p hidden>no",
        "<p aria-hidden=true>no",
        "<p style='color:red;display : none'>no",
        "<p style='visibility:hidden'>no",
        "<span class=sr-only>no</span>",
        "<a class='screen-reader-text skip-link' href=#m>no</a>",
        "<script>no</script>",
        "<style>no</style>",
        "<template><p>no</template>",
        "<noscript>no</noscript>",
        "<svg><title>no</title></svg>",
        "<iframe>no</iframe>",
        "<select><option>no</select>",
        "<textarea>no</textarea>",
        "<!-- no -->",
    ],
)
def test_what_nobody_sees_is_not_content(html: str) -> None:
    assert of(f"<p>seen</p>{html}", main_content=False).text == "seen"


def test_soft_hyphens_and_marks_without_width_are_not_text() -> None:
    assert of("<p>Ge­mein​schaft", main_content=False).text == "Gemeinschaft"


def test_an_article_travels_between_processes() -> None:
    article = of(ARTICLE)
    assert pickle.loads(pickle.dumps(article)) == article


def test_words_are_those_of_the_text() -> None:
    assert of("<p>one two three", main_content=False).words == 3


def test_no_page_at_all() -> None:
    article = of("")
    assert (article.title, article.markdown, article.text, article.links) == ("", "", "", ())


TAGS = (
    "<p>|</p>|<div class=content>|</div>|<b>|</b>|<i>|<a href=x>|</a>|<ul>|<ol start=4>|<li>|</ul>|"
    "<table>|<tr>|<td colspan=9>|<th rowspan=0>|</table>|<pre>|</pre>|<code>|</code>|<h1>|</h1>|<h3>|"
    "<br>|<hr>|<dl>|<dt>|<dd>|<blockquote>|<img src=i.png>|<svg>|<math>|<title>|</title>|<script>|"
    "</script>|<!--|-->|<select>|<option>|<form>|<nav>|<main>|<article>|<section hidden>|<sup>|"
    "<a href=#1>1</a>|<li id=1>|<details>|<summary>|&amp;|&#0;|&lt;|<template>|<noscript>|<frameset>|"
    "<plaintext>|<body class=x>|</body>|</html>|<base href=//[>|<meta property=og:title content=t>|"
    "<time datetime=2020-01-01>|<input type=checkbox>|<a|<|>|="
)
SOUP = st.lists(
    st.one_of(
        st.sampled_from(TAGS.split("|")),
        st.text(max_size=12),
    ),
    max_size=60,
).map("".join)


@settings(max_examples=300)
@given(SOUP, st.booleans())
def test_no_soup_of_tags_makes_it_fail(html: str, main: bool) -> None:
    article = of(html, main_content=main)
    assert isinstance(article.markdown, str)
    assert pickle.loads(pickle.dumps(article)) == article


@settings(max_examples=200)
@given(SOUP)
def test_no_letter_of_the_full_page_is_missing_in_its_markdown(html: str) -> None:
    article = of(f"<body>{html}", main_content=False)
    letters = iter(article.markdown)
    assert all(letter in letters for letter in article.text if letter.isalnum())


@settings(max_examples=100)
@given(st.text(max_size=200), st.text(max_size=50))
def test_no_text_and_no_url_makes_it_fail(html: str, url: str) -> None:
    extract(html, url)
