"""Data out of pages: every notation, every kind of place, and nothing that the page does not say."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.content.extraction_pages import (
    DATE,
    FLAG,
    LINK,
    NUMBER,
    TEXT,
    WHOLE,
    data,
    extracted,
    ld,
    listed,
    of_schema,
    page,
    things,
)

from gossamer.problems import INVALID_SELECTOR, Problem
from gossamer.web.extract.extraction import extract_data
from gossamer.web.extract.schema import schema

PRODUCT: dict[str, Any] = {
    "@context": "https://schema.org",
    "@type": "Product",
    "name": "Silk rope",
    "sku": "SR-10",
    "image": ["/a.jpg", "/b.jpg"],
    "brand": {"@type": "Brand", "name": "Arachne"},
    "offers": {
        "@type": "Offer",
        "price": "1299.00",
        "priceCurrency": "EUR",
        "availability": "https://schema.org/InStock",
    },
    "aggregateRating": {"@type": "AggregateRating", "ratingValue": 4.5, "reviewCount": "12"},
    "review": [
        {
            "@type": "Review",
            "author": {"@type": "Person", "name": "Ann"},
            "reviewBody": "Holds",
            "datePublished": "May 1, 2024",
        },
        {"@type": "Review", "author": "Bob", "reviewBody": "Held"},
    ],
}
MICRODATA = """<div itemscope itemtype="https://schema.org/Product"><b itemprop="name">Silk rope</b>
<img itemprop="image" src="/a.jpg"><div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
<meta itemprop="priceCurrency" content="EUR"><span itemprop="price" content="1299.00">1.299 €</span>
<link itemprop="availability" href="https://schema.org/InStock"></div></div>"""
RDFA = """<div vocab="https://schema.org/" typeof="Product"><b property="name">Silk rope</b>
<img property="image" src="/a.jpg"><div property="offers" typeof="Offer">
<meta property="priceCurrency" content="EUR"><span property="price" content="1299.00">1.299 €</span>
<a property="availability" href="https://schema.org/InStock">now</a></div></div>"""
GRAPH = {"@context": "https://schema.org", "@graph": [{"@type": "Organization", "name": "Shop Ltd"}, PRODUCT]}
REFERRED = {
    "@graph": [
        {**PRODUCT, "offers": {"@id": "#offer"}},
        {"@type": "Offer", "@id": "#offer", **PRODUCT["offers"]},
    ]
}
OPEN_GRAPH = """<meta property="og:title" content="Silk rope"><meta property="og:image" content="/a.jpg">
<meta property="product:price:amount" content="1299.00"><meta property="product:price:currency" content="EUR">
<meta property="product:availability" content="in stock">"""


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        (ld(PRODUCT), "json-ld"),
        (ld(GRAPH), "json-ld"),
        (ld(REFERRED), "json-ld"),
        (ld({"@type": "WebPage", "name": "A page", "mainEntity": PRODUCT}), "json-ld"),
        (ld([PRODUCT]), "json-ld"),
        (f"<!--x-->{ld(PRODUCT).replace('>{', '><!--{').replace('}<', '}--><')}", "json-ld"),
        (MICRODATA, "microdata"),
        (RDFA, "rdfa"),
        (OPEN_GRAPH, "open-graph"),
    ],
)
def test_every_notation_says_the_same(html: str, kind: str) -> None:
    wanted = {"name": TEXT, "price": NUMBER, "currency": TEXT, "inStock": FLAG, "image": LINK}
    found = extracted(f"<title>Shop</title>{html}<p>Words</p>", wanted)
    assert found.data == {
        "name": "Silk rope",
        "price": 1299,
        "currency": "EUR",
        "inStock": True,
        "image": "https://shop.example/a.jpg",
    }
    assert {source.kind for source in found.sources.values()} == {kind}
    assert set(found.sources) == {f"/{name}" for name in wanted}


def test_a_source_is_a_place_that_can_be_found_again() -> None:
    in_script = extracted(ld(GRAPH), {"price": NUMBER}).sources["/price"]
    assert (in_script.path, in_script.text) == ("script[1].@graph[1].offers.price", "1299.00")
    in_page = extracted(f"<main id='main'>{MICRODATA}</main>", {"name": TEXT}).sources["/name"]
    assert in_page.path == "#main > div > b"
    in_head = extracted(OPEN_GRAPH, {"currency": TEXT}).sources["/currency"]
    assert in_head.path == 'meta[property="product:price:currency"]'


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("product_name", TEXT, "Silk rope"),
        ("Product Name", TEXT, "Silk rope"),
        ("cost", NUMBER, 1299),
        ("priceCurrency", TEXT, "EUR"),
        ("stars", NUMBER, 4.5),
        ("numberOfReviews", WHOLE, 12),
        ("manufacturer", TEXT, "Arachne"),
        ("availability", {"enum": ["in_stock", "sold_out"]}, "in_stock"),
        ("images", listed(LINK), ["https://shop.example/a.jpg", "https://shop.example/b.jpg"]),
        ("x", {"title": "Price", "type": "number"}, 1299),
        ("x", {"description": "The SKU of the product"}, "SR-10"),
        ("offers.price", NUMBER, 1299),
        ("brand", things(name=TEXT), {"name": "Arachne"}),
        ("product", things(name=TEXT, sku=TEXT), {"name": "Silk rope", "sku": "SR-10"}),
        ("offer", things(price=NUMBER, currency=TEXT), {"price": 1299, "currency": "EUR"}),
        (
            "reviews",
            listed(things(author=TEXT, text=TEXT, date=DATE)),
            [{"author": "Ann", "text": "Holds", "date": "2024-05-01"}, {"author": "Bob", "text": "Held"}],
        ),
        (
            "reviews",
            listed(things(author=things(name=TEXT))),
            [{"author": {"name": "Ann"}}, {"author": {"name": "Bob"}}],
        ),
    ],
)
def test_properties_are_known_by_many_names(name: str, given: dict[str, Any], value: Any) -> None:
    assert data(ld(PRODUCT), {name: given}) == {name: value}


PAGES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "definition list": (
        "<dl><dt>Weight<dd>1,5 kg<dt>Colour</dt><dt>Color</dt><dd>White</dl>",
        {"weight": NUMBER, "color": TEXT},
        {"weight": 1.5, "color": "White"},
    ),
    "two columns": (
        "<table><tr><th>Length (m)<td>10<tr><th>Made in<td>Tyre</table>",
        {"length": WHOLE, "madeIn": TEXT},
        {"length": 10, "madeIn": "Tyre"},
    ),
    "lines": (
        "<ul><li><b>Delivery:</b> 3 days<li>Telephone: 030 1234</ul>",
        {"delivery": TEXT, "phone": TEXT},
        {"delivery": "3 days", "phone": "030 1234"},
    ),
    "list under a heading": (
        "<h2>Features</h2><ul><li>Light<li>Strong, and soft</ul>",
        {"features": listed(TEXT)},
        {"features": ["Light", "Strong, and soft"]},
    ),
    "line with commas": ("<p>Tags: silk, rope</p>", {"tags": listed(TEXT)}, {"tags": ["silk", "rope"]}),
    "metas again and again": (
        '<meta property="article:tag" content="silk"><meta property="article:tag" content="rope">',
        {"tags": listed(TEXT)},
        {"tags": ["silk", "rope"]},
    ),
    "table": (
        "<table><tr><th>Size<th>Price (€)<tr><td><a href='/s'>S</a><td>1.000,50<tr><td>L<td>2</table>",
        {"sizes": listed(things(size=TEXT, price=NUMBER, url=LINK))},
        {"sizes": [
            {"size": "S", "price": 1000.5, "url": "https://shop.example/s"}, {"size": "L", "price": 2},
        ]},
    ),
    "column": (
        "<table><tr><th>Country<th>Capital<tr><td>Peru<td>Lima<tr><td>Chile<td>Santiago</table>",
        {"capital": listed(TEXT)},
        {"capital": ["Lima", "Santiago"]},
    ),
    "several items": (
        MICRODATA + MICRODATA.replace("Silk", "Hemp").replace("1299.00", "9"),
        {"products": listed(things(name=TEXT, price=NUMBER))},
        {"products": [{"name": "Silk rope", "price": 1299}, {"name": "Hemp rope", "price": 9}]},
    ),
    "item list": (
        ld(
            {
                "@type": "ItemList",
                "itemListElement": [
                    {"@type": "ListItem", "position": 1, "item": {"@type": "Book", "name": "A", "isbn": "1"}},
                    {"@type": "ListItem", "position": 2, "item": {"@type": "Book", "name": "B", "isbn": "2"}},
                ],
            }
        ),
        {"books": listed(things(title=TEXT, isbn=TEXT))},
        {"books": [{"title": "A", "isbn": "1"}, {"title": "B", "isbn": "2"}]},
    ),
    "questions": (
        ld(
            {
                "@type": "FAQPage",
                "mainEntity": [
                    {"@type": "Question", "name": "Why?", "acceptedAnswer": {"text": "So."}},
                ],
            }
        ),
        {"faq": listed(things(question=TEXT, answer=TEXT))},
        {"faq": [{"question": "Why?", "answer": "So."}]},
    ),
    "microdata elsewhere": (
        """<div itemscope itemref="more" itemtype="https://schema.org/Product"></div>
        <p id="more"><b itemprop="name">Far</b></p>""",
        {"name": TEXT},
        {"name": "Far"},
    ),
    "recipe": (
        ld(
            {
                "@type": "Recipe",
                "name": "Soup",
                "totalTime": "PT1H30M",
                "recipeYield": "4 servings",
                "recipeIngredient": ["1 leek", "2 l of water"],
                "recipeInstructions": [{"@type": "HowToStep", "text": "Boil."}],
            }
        ),
        {
            "totalTime": {"type": "integer", "description": "in minutes"},
            "servings": WHOLE,
            "ingredients": listed(TEXT),
            "steps": listed(TEXT),
        },
        {"totalTime": 90, "servings": 4, "ingredients": ["1 leek", "2 l of water"], "steps": ["Boil."]},
    ),
    "person": (
        ld(
            {
                "@type": "Person",
                "name": "Ada",
                "birthDate": "1815-12-10",
                "address": {"@type": "PostalAddress", "streetAddress": "Lane 1", "addressLocality": "London"},
            }
        ),
        {"name": TEXT, "born": DATE, "address": TEXT, "city": TEXT},
        {"name": "Ada", "born": "1815-12-10", "address": "Lane 1, London", "city": "London"},
    ),
    "the page itself": (
        """<html lang='en'><title>Orb webs - Notes</title><meta name='author' content='A. Diadema'>
        <link rel='canonical' href='/webs'><h1>Orb webs</h1><time datetime='2024-05-06'>May</time>""",
        {"title": TEXT, "author": TEXT, "published": DATE, "url": LINK, "language": TEXT},
        {
            "title": "Orb webs",
            "author": "A. Diadema",
            "published": "2024-05-06",
            "url": "https://shop.example/webs",
            "language": "en",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_places_in_which_values_stand(name: str) -> None:
    html, wanted, expected = PAGES[name]
    assert data(f"<html lang='de'>{html}" if "<html" not in html else html, wanted) == expected


NOTHING: dict[str, tuple[str, dict[str, Any]]] = {
    "another thing's price": (ld(PRODUCT), {"shipping": things(price=NUMBER)}),
    "the site's own name": (ld({"@type": "WebSite", "name": "Shop Ltd"}), {"sku": TEXT, "seller": TEXT}),
    "a range": ("<dl><dt>Price<dd>10 \u2013 20 €</dl>", {"price": NUMBER}),
    "two prices": ("<p>Price: was $20, now $15</p>", {"price": NUMBER}),
    "a word for a number": ("<p>Price: on request</p>", {"price": NUMBER}),
    "a day that is none": ("<dl><dt>Founded<dd>soon</dl>", {"founded": DATE}),
    "an hour that is not told": (
        ld({**PRODUCT, "datePublished": "2024-05-01"}),
        {"published": {"type": "string", "format": "date-time"}},
    ),
    "a choice that is not offered": (ld(PRODUCT), {"availability": {"enum": ["yes", "no"]}}),
    "time without a unit": (ld({"@type": "Recipe", "totalTime": "PT1H"}), {"totalTime": WHOLE}),
    "hidden": ("<dl style='display:none'><dt>Price<dd>1</dl><p>Words</p>", {"price": NUMBER}),
    "what is to be made up": (ld(PRODUCT), {"name": {"type": "string", "x-derived": True}}),
    "a selector that finds nothing": (ld(PRODUCT), {"name": {"type": "string", "x-selector": "h6"}}),
    "broken JSON": ('<script type="application/ld+json">{"@type": "A", "sku" "x"}</script>', {"sku": TEXT}),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_invented(name: str) -> None:
    html, wanted = NOTHING[name]
    found = extracted(f"<html lang='en'>{html}", wanted)
    assert (found.data, found.sources) == ({}, {})


def test_what_the_schema_itself_says_is_its_own_source() -> None:
    found = extracted(
        ld(PRODUCT), {"kind": {"const": "product"}, "colour": {"type": "string", "default": "any"}}
    )
    assert found.data == {"kind": "product", "colour": "any"}
    assert {at: source.kind for at, source in found.sources.items()} == {
        "/kind": "schema",
        "/colour": "schema",
    }


CARDS = """<div class="cards">
<article><h3>A</h3><a href="/a">more</a><i data-n="1"></i><b>$1,000.50</b></article>
<article><h3>B</h3><a href="/b">more</a><time datetime="2024-05-06">in May</time></article></div>"""


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"type": "string", "x-selector": "h3"}, "A"),
        ({"type": "string", "x-selector": "a@href"}, "https://shop.example/a"),
        ({"type": "string", "x-selector": {"selector": "a", "attribute": "href"}}, "https://shop.example/a"),
        ({"type": "string", "format": "uri", "x-selector": "a"}, "https://shop.example/a"),
        ({"type": "integer", "x-selector": "[data-n]@data-n"}, 1),
        ({"type": "number", "x-selector": "b"}, 1000.5),
        ({"type": "string", "format": "date", "x-selector": "time"}, "2024-05-06"),
        (listed(TEXT, **{"x-selector": "h3"}), ["A", "B"]),
        (listed({"type": "string", "x-selector": "a@href"}), ["https://shop.example/a", "https://shop.example/b"]),
        (
            listed(
                things(
                    name={"type": "string", "x-selector": "h3"},
                    url={"type": "string", "x-selector": "a@href"},
                ),
                **{"x-selector": "article"},
            ),
            [{"name": "A", "url": "https://shop.example/a"}, {"name": "B", "url": "https://shop.example/b"}],
        ),
        (
            listed(things(url={"x-selector": "@href"}), **{"x-selector": "a"}),
            [{"url": "https://shop.example/a"}, {"url": "https://shop.example/b"}],
        ),
        (
            {**things(name={"x-selector": "h3"}), "x-selector": "article:nth-of-type(2)"},
            {"name": "B"},
        ),
        (things(name={"x-selector": "h3"}), {"name": "A"}),
    ],
)  # fmt: skip
def test_callers_may_point(wanted: dict[str, Any], expected: Any) -> None:
    found = extracted(CARDS, {"it": wanted})
    assert found.data == {"it": expected}
    assert {source.kind for source in found.sources.values()} == {"selector"}


def test_a_selector_that_is_none_is_a_problem() -> None:
    with pytest.raises(Problem) as caught:
        extracted(CARDS, {"it": {"x-selector": "a["}})
    assert caught.value.kind is INVALID_SELECTOR


@pytest.mark.parametrize(
    ("body", "media_type", "wanted", "expected"),
    [
        (
            '{"total": 2, "results": [{"id": 1, "title": "A"}, {"id": 2, "title": "B"}]}',
            "application/json",
            things(total=WHOLE, items=listed(things(id=WHOLE, title=TEXT))),
            {"total": 2, "items": [{"id": 1, "title": "A"}, {"id": 2, "title": "B"}]},
        ),
        (
            '[{"id": 1}, {"id": 20000000000000000000000}]',
            "application/json",
            listed(things(id={"type": ["integer", "string"]})),
            [{"id": 1}, {"id": "20000000000000000000000"}],
        ),
        (
            "Report\n\nAuthor: A. Diadema\nPages: 12\n",
            "text/plain",
            things(author=TEXT, pages=WHOLE),
            {"author": "A. Diadema", "pages": 12},
        ),
    ],
)  # fmt: skip
def test_documents_that_are_no_pages(
    body: str, media_type: str, wanted: dict[str, Any], expected: Any
) -> None:
    assert of_schema(body, wanted, media_type).data == expected


def test_text_for_a_model_has_what_is_shown_and_said_and_not_what_is_hidden() -> None:
    html = f"{ld(PRODUCT)}<h1>Rope</h1><nav>All ropes</nav><p hidden>Secret words</p><p>Plain words</p>"
    found = extracted(html, {"name": TEXT}, text=True)
    assert all(words in found.text for words in ("Plain words", "All ropes", "Arachne"))
    assert "Secret" not in found.text
    assert extracted(html, {"name": TEXT}).text == ""


BOMBS = {
    "itemscopes": "<div itemscope itemtype='https://schema.org/Product' itemprop='offers'>" * 3_000,
    "itemprops": "<b itemprop='name price sku'>x</b>" * 20_000,
    "circles": ld([{"@type": "A", "@id": f"#{n}", "x": {"@id": f"#{1 - n}"}} for n in (0, 1)]),
    "wide": ld({"@type": "Product", "name": ["x"] * 50_000}),
    "deep": f'<script type="application/ld+json">{"[" * 50_000}</script>',
    "typeofs": "<i typeof='Product' property='offers'>" * 3_000,
    "tables": "<table><tr><th>a<th>b<tr><td>1<td>2</table>" * 3_000,
    "labels": "<p>Price: 1</p>" * 20_000,
    "references": ld(
        [{"@type": "A", "@id": f"#{n}", "x": [{"@id": f"#{m}"} for m in range(30)]} for n in range(30)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_no_page_makes_it_fail_or_last(name: str) -> None:
    wanted = {
        "name": TEXT,
        "price": NUMBER,
        "offers": listed(things(price=NUMBER, sku=TEXT)),
        "a": listed(TEXT),
    }
    extracted(BOMBS[name], wanted)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["@type", "@id", "@graph", "name", "offers", "price", "item"]), inner
        )
    ),
    max_leaves=20,
)


@settings(max_examples=150)
@given(documents=st.lists(json_values, max_size=3), body=st.text(max_size=100))
def test_whatever_a_page_says_the_types_are_the_schemas(documents: list[Any], body: str) -> None:
    given_schema = schema.read(
        things(
            name=TEXT,
            price=NUMBER,
            sold=FLAG,
            image=LINK,
            offers=listed(things(price=NUMBER, name=TEXT)),
            brand=things(name=TEXT),
        )
    )
    found = extract_data(page(ld(*documents) + body), given_schema.document, with_text=False)
    kept = [failure for failure in given_schema.failures(found.data) if failure.keyword == "type"]
    assert kept == []
    assert all(source.path for source in found.sources.values())
