"""What somebody chose above a list, and the links to its other pages.

A form of filters sends every field, so an empty one asks for nothing.
"""

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from gossamer.doors.http.dashboard.core.form import Form
from gossamer.problems import validation_error

T = TypeVar("T", bound=msgspec.Struct)


def filters(query: msgspec.Struct, *, action: str = "") -> Form:
    """The query as a form, so that its fields keep what was chosen."""
    chosen: Mapping[str, str] = msgspec.structs.asdict(query)
    return Form({name: text.strip() for name, text in chosen.items()}, action=action)


def given(chosen: Form) -> dict[str, str]:
    """The filters that are set."""
    return {name: text for name, text in chosen.values.items() if text and name != "cursor"}


def to_query(shape: type[T], chosen: Form, **more: Any) -> T:
    """The same question for an endpoint of the API, with names as its type has them."""
    names = dict(zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True))
    set_values = {name: text for name, text in chosen.values.items() if text}
    asked = {names[name]: value for name, value in {**set_values, **more}.items() if name in names}
    try:
        return msgspec.convert(asked, shape, strict=False)
    except msgspec.ValidationError as error:
        raise validation_error(f"{error}.", hint="Correct the filters above the list.") from None


def address(path: str, chosen: Form, **more: str | None) -> str:
    """The address of the list with what was chosen, and more."""
    fields = {name: text for name, text in {**given(chosen), **more}.items() if text}
    return f"{path}?{urlencode(fields)}" if fields else path


def list_links(path: str, chosen: Form, next_cursor: str | None) -> dict[str, Any]:
    """The addresses of the next page and of the first one, for a template; empty where there is none."""
    return {
        "next_href": address(path, chosen, cursor=next_cursor) if next_cursor else "",
        "first_href": address(path, chosen) if chosen["cursor"] else "",
    }
