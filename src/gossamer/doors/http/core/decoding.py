"""Decodes bodies and queries into their types, and turns msgspec's errors into problems."""

import re
from collections.abc import Mapping
from typing import Final, TypeVar
from urllib.parse import parse_qsl

import msgspec

from gossamer import problems
from gossamer.problems import Problem, ProblemKind
from gossamer.web.pages.long_timeout import decode_with_long_timeout

T = TypeVar("T")
MAX_QUERY_PARAMETERS: Final = 100
_MAX_EXACT_FLOAT: Final = (
    2**53
)  # a larger whole number may have been rounded when it was written as a fraction
_FRACTION: Final = re.compile(rb"\d(?:\.\d|[eE])")
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # in JSON
_SURROGATES: Final = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<alone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_PATH: Final = re.compile(r" - at `\$\.(?P<field>\w+)[^`]*`$")  # how msgspec ends the message of an error


def decode_body(
    content_type: str | None,
    body: bytes,
    shape: type[T],
    field_problems: Mapping[str, ProblemKind],
    *,
    by_owner: bool = False,
) -> T:
    """Decode JSON; an error in one of the fields that `field_problems` names is a problem of that kind.

    The owner of the machine may give a longer timeout than the type allows."""
    _require_json(content_type)
    if b"\\u0000" in body and _NUL.search(body):
        raise _nul()
    try:
        return decode_with_long_timeout(body, shape) if by_owner else _decode(body, shape)
    except RecursionError:
        raise problems.validation_error(
            "The body is nested too deeply.", hint="No field needs more than a few dozen levels."
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        kind = field_problems.get(_failing_field(error), problems.VALIDATION_ERROR)
        raise Problem(
            kind, _describe(body, error), hint="Compare the body with the example in /docs."
        ) from None


def _require_json(content_type: str | None) -> None:
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise Problem(
            problems.UNSUPPORTED_MEDIA_TYPE,
            f"Content-Type is {media_type!r}; send application/json."
            if media_type
            else "There is no Content-Type; send application/json.",
            hint="Add the header Content-Type: application/json.",
        )


def _decode(body: bytes, shape: type[T]) -> T:
    """JSON has one kind of number: 30000.0 and 3e4 are whole numbers too (RFC 8259, section 6)."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError:
        if not _FRACTION.search(body):
            raise
    return msgspec.convert(_any_json.decode(body), shape)


def _parse_number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) <= _MAX_EXACT_FLOAT else number


_any_json: Final = msgspec.json.Decoder(float_hook=_parse_number)


def _failing_field(error: Exception) -> str:
    """The field of the body that contains the error; empty if msgspec names none."""
    path = _PATH.search(str(error)) if isinstance(error, msgspec.ValidationError) else None
    return path["field"] if path is not None else ""


def _describe(body: bytes, error: Exception) -> str:
    """Describe the errors that msgspec reports badly or not at all."""
    if not body.strip():
        return "The body is empty."
    if isinstance(error, msgspec.ValidationError):
        return _sentence(str(error))
    if isinstance(error, UnicodeDecodeError) or _has_half_a_character(body):
        return "The body is not valid Unicode."
    return _sentence(str(error))


def _has_half_a_character(body: bytes) -> bool:
    """Escapes for characters beyond U+FFFF come in pairs (RFC 8259, section 8.2)."""
    return any(found["alone"] for found in _SURROGATES.finditer(body))


def decode_query(query: bytes, shape: type[T]) -> T:
    if query.count(b"&") >= MAX_QUERY_PARAMETERS:
        raise problems.validation_error(f"There are more than {MAX_QUERY_PARAMETERS} query parameters.")
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    values = dict(pairs)
    if len(values) != len(pairs):
        raise problems.validation_error("A query parameter was given twice.", hint="Give each of them once.")
    if any("\0" in value for value in values.values()):
        raise _nul()
    try:
        return msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        raise problems.validation_error(
            _sentence(str(error)), hint="Compare the query parameters with /docs."
        ) from None


def _nul() -> Problem:
    """Databases neither store NUL nor search for it, so one place refuses it."""
    return problems.validation_error("A text has the character NUL in it.", hint="Leave it out.")


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
