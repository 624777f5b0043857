"""Dates, authors and titles, by what stands beside the headline."""

import pytest

from gossamer.web.content.article import extract
from gossamer.web.html.byline.authors import clean_name
from gossamer.web.html.dates import date_beside, iso_date
from gossamer.web.html.metadata import Metadata

TEXT = "<p>The mill stands by the river, and its wheel has turned for three hundred years.</p>" * 3


def metadata(body: str, head: str = "", url: str = "https://mill.example/a") -> Metadata:
    return extract(f"<html lang='en'><head>{head}</head><body>{body}</body></html>", url).metadata


@pytest.mark.parametrize(
    "text",
    [
        "5 March 2021", "March 5, 2021", "5. März 2021", "5 mars 2021", "5 de marzo de 2021", "5 marzo 2021",
        "5 de março de 2021", "5 maart 2021", "5 marca 2021", "5 марта 2021", "5 березня 2021",
        "5. března 2021",
        "5 martie 2021", "2021. március 5", "5. marts 2021", "5. maaliskuuta 2021", "5 Mart 2021",
        "5 Μαρτίου 2021",
        "5 март 2021", "5. ožujka 2021", "5 مارس 2021", "2021年3月5日", "2021년 3월 5일", "5 Maret 2021",
    ],
)  # fmt: skip
def test_dates_are_read_in_many_languages(text: str) -> None:
    assert iso_date(text) == "2021-03-05"


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("31.10.23", "de", "2023-10-31"),
        ("26/10/2018", "en", "2018-10-26"),
        ("02/10/2020", "en-GB", "2020-10-02"),
        ("02/10/2020", "en-US", "2020-02-10"),
        ("02/10/2020", "en", None),
        ("02/10/2020", "fr", "2020-10-02"),
    ],
)
def test_short_dates_are_read_as_their_language_does(text: str, language: str, expected: str | None) -> None:
    assert date_beside(text, language) == expected


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Mill</h1><p>5 March 2021</p>{TEXT}",
        f"<div class=meta-date>05.03.2021</div><h1>Mill</h1>{TEXT}",
        f"<h1>Mill</h1><time class=entry-date datetime=2021-03-05T10:00>today</time>{TEXT}",
        f"<h1>Mill</h1>{TEXT}<span itemprop=datePublished content=2021-03-05></span>",
        f"<h1>Mill</h1>{TEXT}<script>var page = {{'publishDate': '2021-03-05T08:00:00Z'}}</script>",
    ],
)
def test_the_date_is_found_beside_the_headline(body: str) -> None:
    assert (metadata(body).published_at or "")[:10] == "2021-03-05"


@pytest.mark.parametrize(
    "path", ["2021/03/05/mill", "news/2021-3-5-mill", "05-03-2021-mill", "a/20210305.html"]
)
def test_the_date_is_in_the_address(path: str) -> None:
    assert metadata(f"<h1>Mill</h1>{TEXT}", url=f"https://mill.example/{path}").published_at == "2021-03-05"


def test_the_hour_of_publication_is_not_an_event() -> None:
    body = f"<h1>Mill</h1><p class=date>05.03.21 - 12:30</p>{TEXT}"
    assert metadata(body).published_at == "2021-03-05"


def test_an_aside_right_beside_the_headline_has_its_date() -> None:
    body = f"<h1>Mill</h1><aside><p class=date>5 March 2021</p></aside>{TEXT}"
    assert metadata(body).published_at == "2021-03-05"


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Mill</h1>{TEXT}",
        f"<h1>Mill</h1>{TEXT}<footer>Copyright 5 March 2021</footer>",
        f"<h1>Mill</h1>{TEXT}<div class=comments><p class=date>5 March 2021</p></div>",
        f"<h1>Mill</h1>{TEXT}<ul class=related-posts><li class=post-date>5 March 2021</li></ul>",
        f"<h1>Mill</h1><p class=date>5 March 2021, 13:15 - 19:00</p>{TEXT}",
        f"<h1>Mill</h1><p class=date>5 March 2021, 1:15 pm to 7:00 pm</p>{TEXT}",
        f"<h1>Mill</h1>{TEXT}<aside class=related><p class=date>5 March 2021</p></aside>",
        f"<h1>Mill</h1><p>The mill was built before the war, and on 5 March 2021 it burned down. {TEXT}</p>",
    ],
)
def test_a_page_without_a_date_stays_without(body: str) -> None:
    assert metadata(body).published_at is None


def test_the_creation_of_a_page_is_not_its_publication() -> None:
    script = '<script type="application/ld+json">{"@type": "%s", "datePublished": "2021-03-05"}</script>'
    assert metadata(f"<h1>Mill</h1>{TEXT}", script % "WebPage").published_at is None
    assert metadata(f"<h1>Mill</h1>{TEXT}", script % "NewsArticle").published_at == "2021-03-05"


def test_a_website_has_no_article_that_is_dated() -> None:
    dated = "<meta property=article:published_time content=2021-03-05><meta property=og:type content=%s>"
    assert metadata(f"<h1>Mill</h1>{TEXT}", dated % "article").published_at == "2021-03-05"
    assert metadata(f"<h1>Mill</h1>{TEXT}", dated % "website").published_at is None


def test_an_author_is_neither_the_site_nor_a_commenter() -> None:
    head = "<meta property=og:site_name content='Mill News'><meta name=author content='Mill News'>"
    comments = "<div class=comments><a rel=author>Troll</a></div>"
    assert metadata(f"<h1>Mill</h1>{TEXT}{comments}", head).author is None
    assert metadata(f"<h1>Mill</h1><p>By Ida Stone | 5 March</p>{TEXT}{comments}", head).author == "Ida Stone"


@pytest.mark.parametrize(
    "text",
    [
        "By Ida Stone",
        "Von Ida Stone",
        "Ida Stone | News",
        "Text: Ida Stone",
        "Ida Stone (dpa)",
        "<a>Ida Stone</a>",
    ],
)
def test_a_name_is_freed_of_what_surrounds_it(text: str) -> None:
    assert clean_name(text) == "Ida Stone"


def test_the_title_is_that_of_the_chapter_and_not_of_the_book() -> None:
    book = "<title>Wheels - The Mill Book</title>"
    assert metadata(f"<h1>The Mill Book</h1><main><h1>Wheels</h1>{TEXT}</main>", book).title == "Wheels"
    assert metadata(f"<h1><a href=/>The Mill Book</a></h1><h2>Wheels</h2>{TEXT}", book).title == "Wheels"
