"""Pages that are nested deeply: whatever reads them says what it can, or raises a `Problem`."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import pytest
from tests.web.audit.audit_subjects import page, subject

from gossamer.problems import Problem
from gossamer.web.audit.audit import audit_page
from gossamer.web.crawl.crawl_view import view_page
from gossamer.web.extract.extraction import extract_data
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import read
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.render.prerender import prerender
from gossamer.web.robots import sitemap

SCHEMA: Final = {"type": "object", "properties": {"name": {"type": "string"}, "a": {"type": "array"}}}
DEPTHS: Final = (330, 980, 1_500)
NESTED: Final[dict[str, Callable[[int], str]]] = {
    "linked lists": lambda n: f'<script type="application/ld+json">{"[" * n}{"]" * n}</script><p>text',
    "linked objects": lambda n: (
        '<script type="application/ld+json">'
        + '{"@type":"Product","name":"x","a":' * n
        + "1"
        + "}" * n
        + "</script><p>text"
    ),
    "linked graphs": lambda n: (
        '<script type="application/ld+json">' + '{"@graph":[' * n + "]}" * n + "</script><p>text"
    ),
    "microdata": lambda n: "<div itemscope itemprop=a itemtype=http://schema.org/Product>" * n + "text",
    "rdfa": lambda n: "<div property=a typeof=Product vocab=http://schema.org/>" * n + "text",
    "blocks": lambda n: "<div>" * n + "text",
    "quotes": lambda n: "<blockquote>" * n + "text",
    "lists": lambda n: "<ul><li>" * n + "text",
    "definitions": lambda n: "<dl><dd>" * n + "text",
    "tables": lambda n: "<table><tr><td>" * n + "text",
    "formatting": lambda n: "<b><i>" * n + "text",
    "links": lambda n: "<a href=x><span>" * n + "text",
    "templates": lambda n: "<template shadowrootmode=open>" * n + "text",
    "drawings": lambda n: "<svg><g>" * n + "text",
    "formulas": lambda n: "<math><mrow>" * n + "text",
    "details": lambda n: "<details><summary>" * n + "text",
}
DOCUMENTS: Final[dict[str, Callable[[int], tuple[str, str]]]] = {
    "json lists": lambda n: ("application/json", "[" * n + "]" * n),
    "json objects": lambda n: ("application/json", '{"items":' * n + "1" + "}" * n),
    "json feed": lambda n: (
        "application/feed+json",
        '{"version":"https://jsonfeed.org/version/1","items":' + "[" * n + "]" * n + "}",
    ),
    "xml": lambda n: ("application/xml", "<a>" * n + "</a>" * n),
    "feed": lambda n: ("application/rss+xml", "<rss><channel>" + "<item><title>" * n),
    "atom": lambda n: ("application/atom+xml", "<feed xmlns='http://www.w3.org/2005/Atom'>" + "<entry>" * n),
    "markdown": lambda n: ("text/markdown", "> " * n + "- " * n + "[" * n),
}


def read_all(given: Page) -> None:
    for how in (ReadingOptions(), ReadingOptions(main_content=False), ReadingOptions(max_tokens=500)):
        with suppress(Problem):
            read(given, how)
    with suppress(Problem):
        extract_data(given, SCHEMA, with_text=True)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", NESTED)
def test_deep_pages(kind: str, depth: int) -> None:
    text = NESTED[kind](depth)
    given = page(text)
    read_all(given)
    view_page(given, agent="Gossamer", max_links=100)
    audit_page(subject(text))
    prerender(text, given.final_url, keep_scripts=False)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_deep_documents(kind: str, depth: int) -> None:
    media_type, text = DOCUMENTS[kind](depth)
    read_all(page(text, media_type=media_type))


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_sitemaps(depth: int) -> None:
    sitemap.read(b"<urlset>" + b"<url>" * depth)
    sitemap.read(b"<sitemapindex>" * depth)
