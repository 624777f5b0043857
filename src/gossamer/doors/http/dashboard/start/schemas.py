"""Schemas to begin with in the playground."""

from typing import Any, Final, NamedTuple

import msgspec


class ExampleSchema(NamedTuple):
    name: str
    title: str
    text: str  # JSON Schema


def _example(name: str, title: str, /, **properties: dict[str, Any]) -> ExampleSchema:
    schema = {"type": "object", "properties": properties}
    return ExampleSchema(name, title, msgspec.json.format(msgspec.json.encode(schema), indent=2).decode())


def _list_of(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_DATE: Final = {"type": "string", "format": "date"}

EXAMPLES: Final = (
    _example(
        "article",
        "Article: headline, author, date",
        headline=_TEXT,
        author=_TEXT,
        datePublished=_DATE,
        description=_TEXT,
    ),
    _example(
        "product",
        "Product: name, price, availability",
        name=_TEXT,
        price=_NUMBER,
        priceCurrency=_TEXT,
        availability=_TEXT,
        brand=_TEXT,
    ),
    _example(
        "recipe",
        "Recipe: name, time, ingredients",
        name=_TEXT,
        totalTime=_TEXT,
        recipeIngredient={"type": "array", "items": _TEXT},
    ),
    _example(
        "events",
        "Events: a list with names and dates",
        events=_list_of(name=_TEXT, startDate=_DATE, location=_TEXT),
    ),
)
