"""What a browser shows of a shadow root is read as a part of the page."""

import pytest
from tests.web.outcome.outcome_pages import page as page_of

from gossamer.web.crawl.crawl_view import view_page
from gossamer.web.html import markup_scan
from gossamer.web.html.shadow import flatten_shadow_roots
from gossamer.web.html.tree import parse

CARD = (
    "<x-card><template shadowrootmode=open><style>b { color: red }</style>"
    "<h2>Trains</h2><p>To <a href=/rome>Rome</a> and back.<x-price><template shadowrootmode=closed>"
    "<b>12</b></template></x-price></template> in the light</x-card>"
)


def test_a_shadow_root_is_an_element_of_its_own() -> None:
    assert flatten_shadow_roots("<x-a><template shadowrootmode=open>a</template>b</x-a>") == (
        "<x-a><shadow-root>a</shadow-root>b</x-a>"
    )
    assert (
        flatten_shadow_roots(CARD).count("<shadow-root>")
        == flatten_shadow_roots(CARD).count("</shadow-root>")
        == 2
    )


@pytest.mark.parametrize(
    "html",
    [
        "<p>shadowrootmode</p>",
        "<template>later, with a shadowrootmode</template>",
        "<!-- <template shadowrootmode=open> --><template>x</template>",
        "<script>write('<template shadowrootmode=open>')</script>",
        "<style>/* <template shadowrootmode=open> */</style></template>",
        "<textarea><template shadowrootmode=open>",
    ],
)
def test_what_is_no_shadow_root_stays_as_it_is(html: str) -> None:
    assert flatten_shadow_roots(html) == html


def test_templates_inside_templates_close_in_their_order() -> None:
    html = "<TEMPLATE ShadowRootMode=open shadowrootmode><template>t</template>s</Template>a</template>"
    assert flatten_shadow_roots(html) == "<shadow-root><template>t</template>s</shadow-root>a</template>"


@pytest.mark.parametrize(
    "piece", ["<template shadowrootmode", "<!--", "<script ", "<template shadowrootmode>x"]
)
def test_a_page_of_beginnings_takes_no_longer_than_it_is_long(piece: str) -> None:
    """With a look from each of them to the end of the page, this would take hours."""
    html = piece * 200_000 + "shadowrootmode"
    assert len(flatten_shadow_roots(html)) <= len(html)


def test_everybody_reads_it() -> None:
    page = page_of(f"<title>Fares</title>{CARD}")
    seen = view_page(page)
    assert seen.text == "Trains To Rome and back. 12 in the light"
    assert seen.links == ("https://site.example/rome",)
    assert markup_scan.scan_markup(page.text, enough=1000).headings == ("Trains",)
    price = parse(page.text).body.find("b")
    assert price is not None
    assert price.plain() == "12"
