"""What somebody chose above a list. A form of filters sends every field, so an empty one asks for nothing."""

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec

from gossamer.doors.http.dashboard.core.form import Form


def filters(query: msgspec.Struct) -> Form:
    """The query as a form, so that its fields keep what was chosen."""
    chosen: Mapping[str, str] = msgspec.structs.asdict(query)
    return Form({name: text.strip() for name, text in chosen.items()})


def address(path: str, chosen: Form, **more: str | None) -> str:
    """The address of the list with what was chosen, and more."""
    fields = {name: text for name, text in {**chosen.values, **more}.items() if text}
    return f"{path}?{urlencode(fields)}" if fields else path


def pages(path: str, chosen: Form, next_cursor: str | None) -> tuple[str, str]:
    """The addresses of the next page and of the first one; empty where there is none to go to."""
    following = address(path, chosen, cursor=next_cursor) if next_cursor else ""
    return following, address(path, chosen, cursor=None) if chosen["cursor"] else ""
