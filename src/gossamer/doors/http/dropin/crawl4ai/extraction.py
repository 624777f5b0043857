"""Schemas of Crawl4AI's selector extraction, as schemas of ours."""

from typing import Any, Final

from gossamer.doors.http.dropin.crawl4ai.configs import ConfigObject
from gossamer.problems import Problem, validation_error

BY_SELECTOR: Final = ("JsonCssExtractionStrategy", "JsonLxmlExtractionStrategy")


def schema_of(strategy: ConfigObject) -> dict[str, Any]:
    """Raises `Problem` for a strategy or a field that our API cannot extract."""
    if strategy.type not in BY_SELECTOR:
        raise _unsupported(strategy.type, f"Use {BY_SELECTOR[0]}, or POST /extract.")
    schema = strategy.params.get("schema")
    if not isinstance(schema, dict) or not isinstance(schema.get("baseSelector"), str):
        raise validation_error("`schema` of the extraction has no `baseSelector`.")
    items = {"type": "object", "properties": _properties(schema.get("fields", []))}
    return {"type": "array", "x-selector": schema["baseSelector"], "items": items}


def _properties(fields: Any) -> dict[str, Any]:
    if not isinstance(fields, list) or not all(isinstance(one, dict) and one.get("name") for one in fields):
        raise validation_error("`fields` of the extraction is a list of objects that have a name.")
    return {str(one["name"]): _value(one) for one in fields}


def _value(field: dict[str, Any]) -> dict[str, Any]:
    selector, kind = field.get("selector"), field.get("type", "text")
    if kind == "text" and selector:
        return {"type": "string", "x-selector": selector}
    if kind == "attribute" and selector and field.get("attribute"):
        return {"type": "string", "x-selector": {"selector": selector, "attribute": field["attribute"]}}
    if kind in ("list", "nested_list") and selector:
        items = {"type": "object", "properties": _properties(field.get("fields", []))}
        return {"type": "array", "x-selector": selector, "items": items}
    if kind == "nested":
        nested = {"type": "object", "properties": _properties(field.get("fields", []))}
        return {**nested, **({"x-selector": selector} if selector else {})}
    raise _unsupported(f"field type {kind}", "Text, attribute, nested and list fields are, with a selector.")


def _unsupported(name: str, hint: str) -> Problem:
    return validation_error(f"The extraction's {name} is not supported.", hint=hint)
