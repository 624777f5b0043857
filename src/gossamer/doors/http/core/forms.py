"""Forms that a browser sends from our own pages."""

from typing import Final
from urllib.parse import parse_qsl

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange

MEDIA_TYPE: Final = "application/x-www-form-urlencoded"
MAX_FIELDS: Final = 200


async def read_form(exchange: Exchange) -> dict[str, str]:
    """The fields of a form, without white space around them; empty if the body is something else.

    A field that was sent more than once, as a group of checkboxes is, has its values on separate lines.
    """
    media_type = (exchange.header(b"content-type") or "").partition(";")[0].strip().lower()
    if media_type != MEDIA_TYPE:
        return {}
    body = await exchange.body()
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise problems.validation_error("The form cannot be read.", hint="Load the page again.") from None
    form: dict[str, str] = {}
    for name, value in pairs:
        text = value.replace("\r\n", "\n").replace("\0", "").strip()
        form[name] = f"{form[name]}\n{text}" if name in form else text
    return form
