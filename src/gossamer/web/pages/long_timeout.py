"""Timeouts of the owner of a machine, who may wait longer than a server lets strangers wait."""

from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import UNSET, Meta
from msgspec.structs import replace

LONGEST_TIMEOUT: Final = 600_000  # milliseconds

T = TypeVar("T")
LongTimeout = Annotated[int, Meta(ge=1, le=LONGEST_TIMEOUT)]


class GivenTimeout(msgspec.Struct):
    """The timeout alone."""

    timeout: LongTimeout | msgspec.UnsetType = UNSET


def decode_with_long_timeout(text: bytes | str, shape: type[T]) -> T:
    """Decode a request whose timeout may be longer than its type allows. Everything else is as ever."""
    timeout = msgspec.json.decode(text, type=GivenTimeout).timeout
    if timeout is UNSET:
        return msgspec.json.decode(text, type=shape)
    fields = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    del fields["timeout"]
    decoded = msgspec.json.decode(msgspec.json.encode(fields), type=shape)
    return replace(decoded, timeout=timeout)  # type: ignore[type-var]  # requests are Structs
