"""What a page says about itself, and what of it is believed."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.content.article import extract
from gossamer.web.html.dates import iso_date
from gossamer.web.html.metadata import Metadata

URL = "https://www.daily.example/2024/a.html"
ARTICLE = (Path(__file__).parents[1] / "pages" / "article.html").read_text()


def of(html: str, url: str = URL) -> Metadata:
    return extract(html, url).metadata


def ld(document: str) -> str:
    return f"<script type='application/ld+json'>{document}</script>"


def test_everything_that_a_good_page_says() -> None:
    found = of(ARTICLE, "https://span.example/news/x")
    assert found.title == "How bridges breathe"
    assert found.description == "Why every long bridge has gaps in it."
    assert found.author == "Ada Byrne, Tom Reed"
    assert found.published_at == "2024-05-01T09:30:00+02:00"
    assert found.modified_at == "2024-05-02T10:00:00Z"
    assert found.language == "en-GB"
    assert found.canonical == "https://span.example/news/how-bridges-breathe"
    assert found.site_name == "The Daily Span"
    assert found.image == "https://span.example/pictures/bridge.jpg"
    assert found.feeds == ("https://span.example/feed.xml",)
    assert found.open_graph["title"] == "How bridges breathe"
    assert found.twitter == {"card": "summary"}
    assert found.json_ld[0]["@type"] == "NewsArticle"


def test_a_page_that_says_nothing_says_nothing() -> None:
    assert of("<p>text") == Metadata()


TITLES = {
    "the site's name goes": ("<title>A story | Daily</title>", "A story"),
    "in front as well": ("<title>Daily - A story of much</title>", "A story of much"),
    "known by its own words": (
        "<title>A story &ndash; Morning Post</title><meta property=og:site_name content='Morning Post'>",
        "A story",
    ),
    "also in what is declared": ("<meta property=og:title content='A story | daily.example'>", "A story"),
    "a heading that the title agrees with": (
        "<title>A story - X Y Z of W Q</title><h1>A story</h1>",
        "A story",
    ),
    "not the heading that is the site": (
        "<title>A long story here | Daily</title><h1>Daily</h1><h1>A long story here</h1>",
        "A long story here",
    ),
    "what is declared before what is in the tab": (
        "<title>x</title><meta property=og:title content='A story'>",
        "A story",
    ),
    "the headline before all that is declared": (
        ld('{"@type": "BlogPosting", "headline": "A story"}')
        + "<meta property=og:title content='Read this'>",
        "A story",
    ),
    "a dash inside stays": (
        "<title>Jean-Luc - a life</title><h1>Jean-Luc - a life</h1>",
        "Jean-Luc - a life",
    ),
    "the only heading": ("<h1>A <em>story</em></h1>", "A story"),
    "in Chinese": ("<title>苹果回应违反中国劳动法_网易订阅</title>", "苹果回应违反中国劳动法"),
    "drawings have titles of their own": ("<svg><title>logo</title></svg><h1>A story</h1>", "A story"),
    "white space": ("<title>\n A\n story </title>", "A story"),
}


@pytest.mark.parametrize("name", TITLES)
def test_title(name: str) -> None:
    html, expected = TITLES[name]
    assert extract(html, URL).title == expected


AUTHORS = {
    "structured": (ld('{"@type": "Article", "author": {"name": "Ada Byrne"}}'), "Ada Byrne"),
    "structured, in a graph": (
        ld('{"@graph": [{"@type": ["Article"], "author": ["Ada Byrne", "Tom"]}]}'),
        "Ada Byrne, Tom",
    ),
    "meta": ("<meta name=author content='By Ada Byrne'>", "Ada Byrne"),
    "link": ("<a rel=author href=/ada>Ada Byrne</a>", "Ada Byrne"),
    "byline": ("<p class=byline>by <b>Ada Byrne</b>", "Ada Byrne"),
    "an address is no name": ("<meta property=article:author content='https://social.example/ada'>", None),
    "nor is an account": ("<meta name=author content=admin>", None),
    "nor is a paragraph": (f"<p class=author>{'All about me and my house and garden. ' * 5}", None),
    "once each": ("<a rel=author>Ada Byrne</a><a rel=author>ada byrne</a>", "Ada Byrne"),
}


@pytest.mark.parametrize("name", AUTHORS)
def test_author(name: str) -> None:
    html, expected = AUTHORS[name]
    assert of(html).author == expected


DATES = {
    "structured": (ld('{"@type": "Article", "datePublished": "2024-05-01"}'), "2024-05-01"),
    "meta": ("<meta property=article:published_time content=2024-05-01T10:00:00Z>", "2024-05-01T10:00:00Z"),
    "itemprop": ("<span itemprop=datePublished content=2024-05-01>long ago</span>", "2024-05-01"),
    "time in the article": (
        "<article><header><time datetime=2024-05-01>May</time></header></article>",
        "2024-05-01",
    ),
    "the only time": ("<time datetime=2024-05-01>May</time>", "2024-05-01"),
    "one of many times": ("<time datetime=2024-05-01></time><time datetime=2023-01-01></time>", None),
    "a date in words": ("<p class=post-date>Posted on May 1st, 2024", "2024-05-01"),
    "nonsense": ("<meta property=article:published_time content='0000-00-00'>", None),
}


@pytest.mark.parametrize("name", DATES)
def test_published_at(name: str) -> None:
    html, expected = DATES[name]
    assert of(html).published_at == expected


def test_a_page_is_not_modified_before_it_is_published() -> None:
    html = ld('{"@type": "Article", "datePublished": "2024-05-02", "dateModified": "2024-05-01"}')
    assert of(html).modified_at is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01 9:30", "2024-05-01T09:30:00"),
        ("2024-05-01T09:30:15.123+0200", "2024-05-01T09:30:15+02:00"),
        ("20240501", "2024-05-01"),
        ("May 1, 2024", "2024-05-01"),
        ("Wed, 01 May 2024 10:00:00 GMT", "2024-05-01"),
        ("1. Mai 2024", "2024-05-01"),
        ("1er août 2023", "2023-08-01"),
        ("3 de junio de 2022", "2022-06-03"),
        ("01.05.2024", "2024-05-01"),
        ("2024/5/1", "2024-05-01"),
        ("2024年5月1日", "2024-05-01"),
        ("05/01/2024", None),  # nobody knows which is the month
        ("2024-13-01", None),
        ("1066-10-14", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_iso_or_nothing(text: str, expected: str | None) -> None:
    assert iso_date(text) == expected


@given(st.dates(date(1980, 1, 1), date(2100, 1, 1)))
def test_iso_dates_are_themselves(day: date) -> None:
    assert iso_date(str(day)) == str(day)


LANGUAGES = {
    "element": ("<html lang=pt_br>", "pt-BR"),
    "header": ("<meta http-equiv=content-language content='de, en'>", "de"),
    "open graph": ("<meta property=og:locale content=fr_FR>", "fr-FR"),
    "nonsense": ("<html lang='{{lang}}'>", None),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_language(name: str) -> None:
    html, expected = LANGUAGES[name]
    assert of(html).language == expected


@pytest.mark.parametrize(
    "broken", ["{", "[1, null, {}]", '{"@graph": {"@graph": 1}}', '{"@type": {"a": 1}}', "null", "{'a': 1}"]
)
def test_broken_structured_data_does_no_harm(broken: str) -> None:
    assert of(ld(broken) + "<title>t</title>").title == "t"


def test_canonical_must_be_an_address() -> None:
    assert of("<link rel=canonical href='javascript:x'>").canonical is None


def test_a_sign_that_links_to_the_heading_is_no_part_of_the_title() -> None:
    page = "<title>abc - Docs</title><h1>abc <a class=headerlink href='#abc'>¶</a></h1><p>Text.</p>"
    assert extract(page, "https://docs.example/").title == "abc"
