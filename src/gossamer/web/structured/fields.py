"""Fields: the short way to say what is wanted, made a schema."""

from collections.abc import Mapping, Sequence
from typing import Final

from gossamer.web.structured.schema import Json

_TYPES: Final[Mapping[str, Json]] = {
    "string": {"type": "string"},
    "text": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "url": {"type": "string", "format": "uri"},
    "email": {"type": "string", "format": "email"},
}


def schema_of(fields: Sequence[str] | Mapping[str, str]) -> Json:
    """Of names, or of names with a type each (`number`, `date`, `string[]`) or a description in words."""
    told = fields if isinstance(fields, Mapping) else dict.fromkeys(fields, "")
    return {"type": "object", "properties": {name: _field(text.strip()) for name, text in told.items()}}


def _field(text: str) -> Json:
    listed = text.endswith("[]")
    known = _TYPES.get(text.removesuffix("[]").lower())
    if known is None:
        return {"description": text} if text else {}
    return {"type": "array", "items": known} if listed else dict(known)
