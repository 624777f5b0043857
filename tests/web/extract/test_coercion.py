"""Values as pages write them, made what a schema wants, or left alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.extract.record import Leaf
from gossamer.web.extract.schema import schema
from gossamer.web.extract.schema.coercion import ValueReader
from gossamer.web.extract.schema.numbers import number
from gossamer.web.extract.schema.words import key, label_key, words
from gossamer.web.extract.value_spec import spec_of
from gossamer.web.html.links import Addresses


@pytest.mark.parametrize(
    ("text", "english", "german"),
    [
        ("1299", 1299, 1299),
        ("$1,299.00", 1299, 1299),
        ("1.299,00 €", 1299, 1299),
        ("€ 1\u202f299,50", 1299.5, 1299.5),
        ("CHF 12'345.60", 12345.6, 12345.6),
        ("1,234 reviews", 1234, 1.234),
        ("1.234 Bewertungen", 1.234, 1234),
        ("1.234.567", 1234567, 1234567),
        ("Rs. 1,00,000", 100000, 100000),
        ("0,125", 0.125, 0.125),
        ("1,5 kg", 1.5, 1.5),
        ("-3.5 °C", -3.5, -3.5),
        ("\u22123", -3, -3),
        ("4.5 out of 5", 4.5, 4.5),
        ("4,5/5", 4.5, 4.5),
        ("4.5 von 5 Sternen", 4.5, 4.5),
        ("20 % off", 20, 20),
        ("1e3", 1000, 1000),
        ("19 or 19", 19, 19),
        ("10\u201320", None, None),
        ("10-20", None, None),
        ("was $20, now $15", None, None),
        ("3 items of 5 kg", None, None),
        ("1 2 3", None, None),
        ("1.2.3", None, None),
        ("A4", None, None),
        ("v2.0", None, None),
        ("many", None, None),
        ("", None, None),
        ("1" * 300, None, None),
    ],
)
def test_numbers(text: str, english: float | None, german: float | None) -> None:
    assert number(text, comma=False) == english
    assert number(text, comma=True) == german


@given(st.integers(-(10**12), 10**12), st.sampled_from([",", ".", "\u00a0", "'", ""]))
def test_whole_numbers_come_back_however_they_are_grouped(value: int, mark: str) -> None:
    text = f"{value:,}".replace(",", mark)
    comma = mark == "."
    assert number(f"{text} pieces", comma=comma) == value


@given(st.text(max_size=250))
def test_no_text_makes_numbers_fail(text: str) -> None:
    number(text)


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        ("  Two\n words ", {"type": "string"}, "Two words"),
        ("<p>Bold &amp; <b>brave</b></p>", {"type": "string"}, "Bold & brave"),
        ("5 &lt; 6", {"type": "string"}, "5 < 6"),
        (12, {"type": "string"}, "12"),
        (True, {"type": "string"}, "true"),
        (12, {}, 12),
        ("12", {}, "12"),
        ("12", {"type": ["number", "null"]}, 12),
        ("twelve", {"type": ["number", "string"]}, "twelve"),
        ("4.0", {"type": "integer"}, 4),
        (4.5, {"type": "integer"}, None),
        (True, {"type": "number"}, None),
        ("Yes", {"type": "boolean"}, True),
        ("https://schema.org/OutOfStock", {"type": "boolean"}, False),
        ("in stock", {"type": "boolean"}, True),
        ("perhaps", {"type": "boolean"}, None),
        ("May 1, 2024", {"type": "string", "format": "date"}, "2024-05-01"),
        ("2024-05-01T09:30:00+02:00", {"type": "string", "format": "date"}, "2024-05-01"),
        ("2024-05-01T09:30:00+02:00", {"type": "string", "format": "date-time"}, "2024-05-01T09:30:00+02:00"),
        ("2024-05-01", {"type": "string", "format": "date-time"}, None),
        ("1. Mai 1879", {"type": "string", "format": "date"}, "1879-05-01"),
        ("03/04/24", {"type": "string", "format": "date"}, None),
        ("/a b", {"type": "string", "format": "uri"}, "https://shop.example/a%20b"),
        ("javascript:alert(1)", {"type": "string", "format": "uri"}, None),
        ("Write to <a@b.example>.", {"type": "string", "format": "email"}, "a@b.example"),
        ("mailto:a@b.example", {"type": "string", "format": "email"}, "a@b.example"),
        ("nobody", {"type": "string", "format": "email"}, None),
        ("https://schema.org/InStock", {"enum": ["in_stock", "sold_out"]}, "in_stock"),
        ("In Stock", {"enum": ["InStock"]}, "InStock"),
        ("5 stars", {"enum": [1, 5]}, 5),
        ("Backorder", {"enum": ["InStock"]}, None),
        ("PT1H30M", {"type": "integer", "description": "Minutes it takes"}, 90),
        ("PT1H30M", {"type": "number", "description": "Hours it takes"}, 1.5),
        ("PT1H30M", {"type": "integer"}, None),
        ("PT1H30M", {"type": "string"}, "PT1H30M"),
        ("", {"type": "string"}, None),
    ],
)
def test_values(value: Any, spec: dict[str, Any], expected: Any) -> None:
    read = schema.read({"type": "object", "properties": {"it": spec}})
    (part,) = spec_of(read).members
    reader = ValueReader(Addresses("https://shop.example/rope"), "de")
    made = reader.coerce(Leaf(value, "here"), part)
    assert (made, type(made)) == (expected, type(expected))
    if made is not None:
        assert read.accepts({"it": made})


@pytest.mark.parametrize(
    "names",
    [
        ("datePublished", "date_published", "Date published:", "DATE-PUBLISHED"),
        ("reviews", "review", "Review"),
        ("countries", "country"),
        ("GTIN13", "gtin13"),
    ],
)
def test_spellings_are_one(names: tuple[str, ...]) -> None:
    assert len({key(name) for name in names}) == 1


def test_labels_are_known_without_their_notes() -> None:
    assert label_key("Weight (kg):") == label_key("the weight")
    assert words("HTMLParser") == ("html", "parser")
    assert key("address") != key("addres")
