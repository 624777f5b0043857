"""Dialect: how the clients of another product speak, where that differs from our own API."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from starlette.responses import Response

from gossamer.problems import Problem

if TYPE_CHECKING:
    from gossamer.doors.http.core.exchange import Exchange


def no_secret(_exchange: "Exchange") -> str | None:
    return None


class Dialect(Struct, frozen=True, eq=False):
    """Routes in a dialect are not in our OpenAPI document; they have pages of their own in the docs."""

    name: str
    refuse: Callable[[Problem, "Exchange"], Response]  # an error, as its clients read it
    prefixes: tuple[str, ...] = ()  # paths whose errors have that form, even if there is no route
    secret: Callable[["Exchange"], str | None] = no_secret  # the API key, if there is no Authorization
    idempotency_header: bytes = b"idempotency-key"
    takes_sessions: bool = False  # whether the cookie of a session is as good as a key
    adds_headers: bool = True  # whether answers have our standard headers beside their own
