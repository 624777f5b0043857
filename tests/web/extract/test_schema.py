"""Schemas of callers: what is refused and where, what they become, and data that is made to hold to them."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.content.extraction_pages import LINK, NUMBER, TEXT, WHOLE, listed, things

from gossamer.problems import UNPROCESSABLE_ENTITY, Problem
from gossamer.web.extract.found_value import Provenance
from gossamer.web.extract.schema import fitting, schema
from gossamer.web.extract.schema.schema import pointer, schema_of
from gossamer.web.extract.value_spec import ValueSpec, selectors_of, spec_of


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        found = {"type": "object", "properties": {"a": found}}
    return found


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "type": (things(a={"type": "strin"}), "/properties/a/type"),
    "required": ({"type": "object", "required": "a"}, "/required"),
    "properties": ({"type": "object", "properties": []}, "/properties"),
    "a single value": ({"type": "string"}, "/type"),
    "nothing": ({}, "/type"),
    "unknown draft": ({"$schema": "https://example.com/schema", "type": "object"}, "/$schema"),
    "draft of no text": ({"$schema": 5, "type": "object"}, "/$schema"),
    "foreign reference": (things(a={"$ref": "https://example.com/a.json"}), "/properties/a/$ref"),
    "file": (things(a={"$ref": "file:///etc/passwd"}), "/properties/a/$ref"),
    "no such place": (things(a={"$ref": "#/$defs/none"}), "/properties/a/$ref"),
    "itself": (
        {**things(a={"$ref": "#/$defs/a"}), "$defs": {"a": things(b={"$ref": "#/$defs/a"})}},
        "/$defs/a/properties/b/$ref",
    ),
    "the whole": (things(a={"$ref": "#"}), "/properties/a/$ref"),
    "another base": ({**things(a=TEXT), "$id": "https://example.com/"}, "/$id"),
    "dynamic": (things(a={"$dynamicRef": "#a"}), "/properties/a/$dynamicRef"),
    "lookahead": (things(a={"type": "string", "pattern": "(?=a)b"}), "/properties/a/pattern"),
    "back reference": (things(a={"type": "string", "pattern": r"(a)\1"}), "/properties/a/pattern"),
    "no pattern": (things(a={"type": "string", "pattern": "("}), "/properties/a/pattern"),
    "huge pattern": (things(a={"type": "string", "pattern": "(a{1000}){1000}"}), "/properties/a/pattern"),
    "too deep": (nested(30), ""),
    "too long": (things(a={"type": "string", "description": "x" * 70_000}), ""),
    "too large a number": (things(a={"type": "integer", "maximum": 2**70}), ""),
    "selector of no text": (things(a={"x-selector": 5}), "/properties/a/x-selector"),
    "selector with more": (things(a={"x-selector": {"css": "a"}}), "/properties/a/x-selector"),
    "selector too long": (things(a={"x-selector": "a" * 501}), "/properties/a/x-selector"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_where(name: str) -> None:
    given_schema, path = REFUSED[name]
    with pytest.raises(Problem) as caught:
        spec_of(schema.read(given_schema))
    assert caught.value.kind is UNPROCESSABLE_ENTITY
    assert caught.value.members["details"] == {"reason": "invalid_schema", "path": path}
    assert caught.value.detail.startswith("The schema is not usable at")


def test_references_that_multiply_are_refused_at_once() -> None:
    defs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    with pytest.raises(Problem, match="more than 2,000 parts"):
        schema.read(
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**defs, "d40": TEXT}}
        )


def test_references_are_written_out() -> None:
    read = schema.read(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "price": {"$ref": "#/definitions/money"},
                "old": {"$ref": "#/definitions/money", "description": "before"},
                "both": {"$ref": "#/definitions/odd~1name"},
            },
            "definitions": {"money": NUMBER, "odd/name": listed({"$ref": "#/definitions/money"})},
        }
    )
    assert "$ref" not in json.dumps(read.document)
    price, old, both = spec_of(read).members
    assert price.types == old.types == {"number"}
    assert old.description == "before"
    assert both.item is not None
    assert both.item.types == {"number"}


def test_alternatives_are_one_for_the_search_and_all_for_the_judgement() -> None:
    read = schema.read(
        {
            "type": "object",
            "allOf": [things(name=TEXT), {"required": ["name"]}],
            "properties": {"price": {"anyOf": [{"type": "null"}, NUMBER, TEXT]}},
        }
    )
    spec = spec_of(read)
    assert {one.name: one.types for one in spec.members} == {"name": {"string"}, "price": {"number"}}
    assert spec.required == {"name"}
    assert read.accepts({"name": "x", "price": "many"})
    assert not read.accepts({"price": 1})


def test_patterns_never_go_back() -> None:
    read = schema.read(things(a={"type": "string", "pattern": "^(a+)+$"}))
    assert not read.accepts({"a": "a" * 20_000 + "!"})


def test_selectors_are_named_once_each() -> None:
    spec = spec_of(
        schema.read(things(a={"x-selector": "b@href"}, c={"x-selector": "b"}, d={"x-selector": "@id"}))
    )
    assert selectors_of(spec) == ("b",)


def test_fields_are_short_for_a_schema() -> None:
    assert schema_of(["title", "price"]) == things(title={}, price={})
    assert schema_of(
        {"price": "Number", "tags": "string[]", "when": "date", "why": "what it is for"}
    ) == things(
        price=NUMBER,
        tags=listed(TEXT),
        when={"type": "string", "format": "date"},
        why={"description": "what it is for"},
    )


# Fitting.


def fitted(given_schema: dict[str, Any], data: Any, *, complete: bool = True) -> fitting.Fitted:
    read = schema.read(given_schema)
    sources = {pointer(path): Provenance("page", str(path)) for path in leaves(data)}
    return fitting.fit(read, spec_of(read), data, sources, complete=complete)


def leaves(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(data, dict):
        return [leaf for name, one in data.items() for leaf in leaves(one, (*path, name))]
    if isinstance(data, list):
        return [leaf for place, one in enumerate(data) for leaf in leaves(one, (*path, place))]
    return [path]


def test_what_does_not_fit_is_left_out_and_named() -> None:
    found = fitted(
        things(name=TEXT, price={"type": "number", "maximum": 10}, sku={"type": "string", "pattern": "^S"}),
        {"name": "Rope", "price": 11, "sku": "R1"},
    )
    assert (found.data, found.valid) == ({"name": "Rope"}, True)
    assert [one.path for one in found.rejected] == ["/price", "/sku"]
    assert found.missing == (("price",), ("sku",))
    assert set(found.sources) == {"/name"}


def test_items_that_lack_something_are_left_out_and_the_others_move_up() -> None:
    offer = {**things(price=NUMBER, name=TEXT), "required": ["price"]}
    found = fitted(things(offers=listed(offer)), {"offers": [{"name": "a"}, {"price": 2, "name": "b"}]})
    assert (found.data, found.valid) == ({"offers": [{"price": 2, "name": "b"}]}, True)
    assert found.sources["/offers/0/price"].path == "('offers', 1, 'price')"
    waiting = fitted(things(offers=listed(offer)), {"offers": [{"name": "a"}]}, complete=False)
    assert (waiting.data, waiting.valid) == ({"offers": [{"name": "a"}]}, False)
    assert waiting.missing == (("offers", 0, "price"),)


def test_what_is_required_all_the_way_up_stays_incomplete() -> None:
    inner = {**things(price=NUMBER, sku=TEXT), "required": ["price"]}
    kept = fitted({**things(offer=inner), "required": ["offer"]}, {"offer": {"sku": "S"}})
    assert (kept.data, kept.valid, kept.missing) == ({"offer": {"sku": "S"}}, False, (("offer", "price"),))
    left = fitted(things(offer=inner), {"offer": {"sku": "S"}})
    assert (left.data, left.valid, left.missing) == ({}, True, (("offer",),))


def test_null_is_for_what_may_be_null_and_must_be_there() -> None:
    given_schema = {
        **things(a={"type": ["string", "null"]}, b={"type": ["string", "null"]}),
        "required": ["a"],
    }
    found = fitted(given_schema, {})
    assert (found.data, found.valid, found.missing) == ({"a": None}, True, (("a",), ("b",)))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=12,
)
SHAPES = [
    things(a=TEXT, b=NUMBER, c=listed({**things(a=WHOLE, b=TEXT), "required": ["a"]}, minItems=1)),
    {
        **things(a={"type": "string", "minLength": 2}, b={**things(c=LINK), "required": ["c"]}),
        "required": ["a"],
    },
    {**things(a={"oneOf": [TEXT, WHOLE]}, b={"enum": [1, "a"]}, c={}), "additionalProperties": False},
    listed({**things(a=TEXT), "required": ["a"], "minProperties": 1}),
]


@settings(max_examples=300)
@given(data=values, shape=st.sampled_from(SHAPES))
def test_data_is_valid_or_something_required_is_missing(data: Any, shape: dict[str, Any]) -> None:
    read = schema.read(shape)
    kind: type = list if shape["type"] == "array" else dict
    data = data if isinstance(data, kind) else kind()
    found = fitting.fit(read, spec_of(read), data, {}, complete=True)
    assert found.valid == read.accepts(found.data)
    if not found.valid:
        assert {failure.keyword for failure in read.failures(found.data)} == {"required"}
        assert found.missing


def test_wanted_knows_its_way() -> None:
    spec = spec_of(schema.read(things(a=listed(things(b=TEXT)))))
    found = fitting.spec_at(spec, ("a", 3, "b"))
    assert isinstance(found, ValueSpec)
    assert found.name == "b"
    assert fitting.spec_at(spec, ("a", "x")) is None
