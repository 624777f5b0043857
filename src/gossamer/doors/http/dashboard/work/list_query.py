"""What the filters of a list say, and the links to its other pages."""

from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from gossamer.problems import validation_error

T = TypeVar("T", bound=msgspec.Struct)


def given(query: msgspec.Struct, *without: str) -> dict[str, str]:
    """The filters that are set. A form sends the others too, but empty."""
    return {
        name: text for name, text in msgspec.structs.asdict(query).items() if text and name not in without
    }


def to_query(shape: type[T], query: msgspec.Struct, **more: Any) -> T:
    """The same question for an endpoint of the API, with names as its type has them."""
    names = dict(zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True))
    asked = {names[name]: value for name, value in {**given(query), **more}.items() if name in names}
    try:
        return msgspec.convert(asked, shape, strict=False)
    except msgspec.ValidationError as error:
        raise validation_error(f"{error}.", hint="Correct the filters above the list.") from None


def next_link(path: str, query: msgspec.Struct, cursor: str | None) -> str:
    return f"{path}?{urlencode({**given(query, 'cursor'), 'cursor': cursor})}" if cursor else ""


def first_link(path: str, query: msgspec.Struct) -> str:
    """To the beginning of a list of which a later page is shown."""
    if "cursor" not in given(query):
        return ""
    rest = urlencode(given(query, "cursor"))
    return f"{path}?{rest}" if rest else path
