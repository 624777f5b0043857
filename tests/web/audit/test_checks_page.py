"""Checks of what is on a page: content, links, images, structured data, sharing, the document."""

import json
from typing import Any, Final

import pytest
from tests.web.audit.audit_subjects import (
    GOOD,
    Spoil,
    added,
    answer,
    header,
    instead,
    known,
    read_as,
    subject,
)

from gossamer.web.audit.page.markup.structured import REQUIRED
from gossamer.web.audit.page.structured_data import find_structured_data
from gossamer.web.audit.page.subject import LinkCheck
from gossamer.web.outcome.outcome import Judgement, Outcome

HEAD: Final = "</head>"
IMAGE: Final = (
    '<img src="/pictures/web.webp" alt="An orb web with a hole in its upper half" width="1200" height="800">'
)
JSON_LD: Final = GOOD[GOOD.index('<script type="application/ld+json">') : GOOD.index("</head>")]
VIEWPORT: Final = "width=device-width, initial-scale=1"
PARAGRAPH: Final = f"<p>{'The same again and again. ' * 8}</p>"


def og(name: str, value: str) -> Spoil:
    start = GOOD.index(f'<meta property="og:{name}" content="')
    whole = GOOD[start : GOOD.index(">", start) + 1]
    return instead(whole, f'<meta property="og:{name}" content="{value}">' if value else "")


def image(**attributes: str) -> Spoil:
    written = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return instead(IMAGE, f"<img{written}>")


def data(value: Any) -> Spoil:
    return instead(JSON_LD, f'<script type="application/ld+json">{json.dumps(value)}</script>')


def thing(kind: str, **properties: Any) -> Spoil:
    return data({"@context": "https://schema.org", "@type": kind, **properties})


FAULTS: Final[list[tuple[str, Spoil]]] = [
    ("content-empty", read_as(judgement=Judgement(Outcome.EMPTY, "script_needed"))),
    ("content-empty", lambda: subject("<html></html>")),
    ("content-thin", lambda: subject("<main><p>A few words, no more.</p></main>")),
    ("content-ratio", added(f"<script>{'var nothing;' * 5_000}</script>")),
    ("content-filler", added("<p>Lorem ipsum dolor sit amet, consetetur sadipscing elitr.</p>")),
    ("content-repeated", added(PARAGRAPH + "<p>Between.</p>" + PARAGRAPH)),
    ("content-old", lambda: subject(GOOD.replace("2026-0", "2019-0"))),
    ("links-broken", known(links=(LinkCheck("https://notes.example/gone", 404, internal=True),))),
    ("links-broken", known(links=(LinkCheck("https://notes.example/slow", None, "timeout", True),))),
    ("links-broken-outside", known(links=(LinkCheck("https://gone.example/", 410),))),
    ("images-broken", known(links=(LinkCheck("https://notes.example/a.png", 404, kind="image"),))),
    ("resources-broken", known(links=(LinkCheck("https://cdn.example/a.js", 404, kind="script"),))),
    ("resources-broken", known(links=(LinkCheck("https://cdn.example/a.css", None, kind="style"),))),
    ("links-empty", added('<a href="/empty"><img src="/x.webp" alt=""></a>')),
    ("links-vague", added('<a href="/more">Read more …</a>')),
    ("links-vague", added('<a href="/mehr">hier</a>')),
    ("links-nofollow-inside", added('<a href="/x" rel="nofollow ugc">More webs</a>')),
    ("links-many", added("".join(f'<a href="/{n}">Page {n}</a>' for n in range(301)))),
    ("links-none", lambda: subject('<p><a href="https://other.example/">Away</a> <a href="#x">Down</a></p>')),
    ("links-insecure", added('<a href="http://notes.example/old">The old notes</a>')),
    ("links-script", added('<a href=" JavaScript:void(0)">Open the box</a>')),
    ("links-fragments", added('<a href="#nowhere">To the end</a>')),
    ("image-alt", image(src="/x.webp", width="1", height="1")),
    ("image-alt-filename", image(src="/x.webp", alt="IMG_2041.jpg")),
    ("image-alt-long", image(src="/x.webp", alt="word " * 80)),
    ("image-dimensions", image(src="/x.webp", alt="")),
    ("image-lazy-first", image(src="/x.webp", alt="", loading="Lazy")),
    ("image-eager", added("<img src='/x.webp' alt='' width=1 height=1>" * 8)),
    ("image-source", image(alt="Nothing", src="")),
    ("image-embedded", image(src=f"data:image/png;base64,{'A' * 20_000}", alt="")),
    ("image-oversized", image(src="/x.webp", alt="", width="4000", height="3000")),
    ("image-formats", image(src="/x.jpg?size=2", alt="")),
    ("image-unshowable", image(src="/scan.TIFF", alt="")),
    ("media-titles", instead(' title="A map of where the spiders were found"')),
    ("structured-missing", lambda: subject(
        GOOD.replace(JSON_LD, "").replace("itemscope", "").replace("itemprop", "data-prop")
    )),
    ("json-ld-broken", instead('"@graph": [', '"@graph": [,')),
    ("json-ld-broken", added('<script type="application/ld+json"></script>', HEAD)),
    ("json-ld-untyped", data({"@type": "Article"})),
    ("json-ld-untyped", data({"@context": "https://schema.org"})),
    ("json-ld-untyped", data(["text"])),
    ("microdata-broken", added('<p itemprop="lost">Whose?</p>')),
    ("microdata-broken", instead('itemtype="https://schema.org/Organization"', 'itemtype="Organization"')),
    ("structured-incomplete", thing("Article", headline="Webs")),
    ("structured-incomplete", instead('<span itemprop="name">Field Notes</span>')),
    ("structured-breadcrumbs", thing("BreadcrumbList", itemListElement=[{"position": 2, "name": "x"}])),
    ("structured-breadcrumbs", thing("BreadcrumbList", itemListElement=[{"position": 1}])),
    ("structured-breadcrumbs", thing("BreadcrumbList", itemListElement="x")),
    ("structured-dates", instead('"2026-03-01"', '"03/01/2026"')),
    ("og-incomplete", og("image", "")),
    ("og-description", og("description", "")),
    ("og-relative", og("image", "/pictures/web.jpg")),
    ("og-image-alt", og("image:alt", "")),
    ("og-twice", added('<meta property="og:title" content="Another">', HEAD)),
    ("og-locale", og("locale", "en")),
    ("twitter-card", instead("summary_large_image", "enormous")),
    ("twitter-card", instead('<meta name="twitter:card" content="summary_large_image">')),
    ("doctype-missing", instead("<!doctype html>")),
    ("charset-missing", instead('<meta charset="utf-8">', headers={"content-type": "text/html"})),
    ("charset-legacy", lambda: subject(charset="windows-1252")),
    ("viewport-missing", instead(f'<meta name="viewport" content="{VIEWPORT}">')),
    ("viewport-missing", instead(VIEWPORT, "width=1024")),
    ("viewport-zoom", instead(VIEWPORT, f"{VIEWPORT}, user-scalable=no")),
    ("viewport-zoom", instead(VIEWPORT, f"{VIEWPORT}, maximum-scale=1.0")),
    ("dom-size", added("<b>x</b>" * 3_000)),
    ("dom-depth", added(f"{'<div>' * 40}deep{'</div>' * 40}")),
    ("ids-twice", added('<p id="threads">Again</p>')),
    ("favicon-missing", instead('<link rel="icon" href="/favicon.svg">')),
    ("obsolete-elements", added("<center><font>1998</font></center>")),
]  # fmt: skip


@pytest.mark.parametrize(("identity", "spoil"), FAULTS)
def test_a_fault_is_found(identity: str, spoil: Spoil) -> None:
    found = answer(identity, spoil())
    assert isinstance(found, list)
    assert found


HARMLESS: Final[list[tuple[str, Spoil]]] = [
    ("content-thin", lambda: subject(f"<main><p>{'蜘蛛在夜里修补它的网。' * 50}</p></main>")),
    ("links-broken", known(links=(LinkCheck("https://notes.example/x", 403, internal=True),))),
    ("images-broken", known(links=(LinkCheck("https://notes.example/x.png", 200, kind="image"),))),
    ("resources-broken", known(links=(LinkCheck("https://notes.example/x.js", 200, kind="script"),))),
    ("links-empty", added('<a href="/x" aria-label="Close"><svg></svg></a>')),
    ("links-empty", added('<a href="/x"><svg><title>Close</title></svg></a>')),
    ("links-fragments", added('<a href="#top">Up</a> <a href="#caf%C3%A9">Café</a> <p id="café">x</p>')),
    ("image-alt", image(src="/x.webp", role="presentation")),
    ("image-dimensions", image(src="/x.webp", style="width: 100%; aspect-ratio: 3/2")),
    ("image-oversized", image(src="/x.webp", width="4000", srcset="/small.webp 400w")),
    ("structured-incomplete", thing("Thing", name="x")),
    ("structured-incomplete", thing("Product", name="x", offers={"@type": "Offer", "@id": "#offer"})),
    ("structured-breadcrumbs", thing("BreadcrumbList", itemListElement=[
        {"position": "1", "item": {"@id": "/", "name": "Start"}}])),
    ("microdata-broken", added('<p id="far" itemprop="name">x</p><p itemscope itemref="far"></p>')),
    ("charset-missing", header(content_type="text/html")),
    ("doctype-missing", instead("<!doctype html>", "<!-- a comment -->\n<!DOCTYPE HTML>")),
    ("viewport-zoom", instead(VIEWPORT, f"{VIEWPORT}, maximum-scale=5")),
    ("favicon-missing", instead('rel="icon"', 'rel="SHORTCUT ICON"')),
]  # fmt: skip


@pytest.mark.parametrize(("identity", "spoil"), HARMLESS)
def test_what_is_right_is_not_found(identity: str, spoil: Spoil) -> None:
    assert answer(identity, spoil()) == []


@pytest.mark.parametrize(("kind", "names"), REQUIRED.items())
def test_each_required_property_is_missed(kind: str, names: tuple[str, ...]) -> None:
    assert answer("structured-incomplete", thing(kind, other="x")()) == [
        f"{kind} (JSON-LD): {name.replace('|', ' or ')}" for name in dict.fromkeys(names)
    ]
    given = {name.partition("|")[0]: "x" for name in names}
    assert answer("structured-incomplete", thing(kind, **given)()) in ([], ["Offer (JSON-LD): priceCurrency"])


def test_the_answer_to_a_question_needs_its_text() -> None:
    assert answer("structured-incomplete", thing("Answer", url="x")()) == ["Answer (JSON-LD): text"]


def test_microdata_is_read_as_things() -> None:
    html = """<div itemscope itemtype="https://schema.org/Product"><b itemprop="name">Silk</b>
      <div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="price" content="9">
      <i itemprop="priceCurrency">EUR</i></div></div>"""
    product, offer = find_structured_data(subject(html).tree).things
    assert (product.kinds, product.properties["name"]) == (("Product",), "Silk")
    assert product.has("offers")
    assert offer.properties == {"price": "9", "priceCurrency": "EUR"}


def test_an_error_in_json_ld_says_where_it_is() -> None:
    (error,) = subject('<script type="application/ld+json">{"a": 1,\n "b" 2}</script>').structured.json_errors
    assert error.startswith("script 1: Expecting ':' delimiter in line 2")


def test_json_ld_that_is_nested_too_deeply_is_an_error_and_no_harm() -> None:
    bomb = "[" * 100_000
    found = subject(f'<script type="application/ld+json">{bomb}</script>').structured
    assert len(found.json_errors) == 1
