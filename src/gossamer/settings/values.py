"""Parsers for the values of settings. Each takes text and returns a value, or raises `Expected`."""

import base64
import os
import re
from collections.abc import Callable, Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

MILLION: Final = 1_000_000
UNITS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "sec": 1, "min": 60}
FOREVER: Final = "forever"
MAX_LIFETIME: Final = 100 * 366 * 86400
_SPANS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}

Network = IPv4Network | IPv6Network
Parse = Callable[[str], Any]


class Expected(ValueError):
    """The text is not valid: what is expected, and the closest valid value if there is one."""

    def __init__(self, what: str, closest: str = "") -> None:
        super().__init__(f"expected {what}" + (f"; did you mean {closest!r}?" if closest else ""))
        self.what = what
        self.closest = closest


class Rate(Struct, frozen=True):
    """At most `limit` in any `seconds`."""

    limit: int
    seconds: int

    def __str__(self) -> str:
        return f"{self.limit}/{_unit(self.seconds) or self.seconds}"

    @property
    def per(self) -> str:
        """The window in words: "hour", "30 seconds"."""
        return _unit(self.seconds) or f"{self.seconds} seconds"


class PerTier(Struct, frozen=True):
    """A bound for each tier of callers; None is no bound."""

    free: int | None
    pro: int | None
    enterprise: int | None

    def __str__(self) -> str:
        bounds = (self.free, self.pro, self.enterprise)
        return ",".join("unlimited" if bound is None else str(bound) for bound in bounds)


def _unit(seconds: int) -> str:
    return next((unit for unit, length in UNITS.items() if length == seconds), "")


class Money(Struct, frozen=True):
    """An amount in millionths of a dollar, the atomic unit of the tokens for payment."""

    millionths: int

    def __str__(self) -> str:
        return f"${self.dollars:.6f}".rstrip("0").rstrip(".")

    @property
    def dollars(self) -> float:
        return self.millionths / MILLION


class Lifetime(Struct, frozen=True):
    """How long something is kept; 0 seconds: forever."""

    seconds: int

    def __str__(self) -> str:
        if self.is_forever:
            return FOREVER
        unit = next(unit for unit in reversed(_SPANS) if self.seconds % _SPANS[unit] == 0)
        return f"{self.seconds // _SPANS[unit]}{unit}"

    @property
    def is_forever(self) -> bool:
        return self.seconds == 0

    @property
    def milliseconds(self) -> int:
        return self.seconds * 1000


def whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]+(_[0-9]+)*", text) and len(text) <= 18 and low <= int(text) <= high:
            return int(text)
        raise Expected(f"a whole number from {low} to {high}")

    return parse


def duration(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text) and low <= float(text) <= high:
            return float(text)
        raise Expected(f"seconds from {low:g} to {high:g}")

    return parse


def lifetime(low: int = 1) -> Callable[[str], Lifetime]:
    """`low`: the shortest, in seconds."""

    def parse(text: str) -> Lifetime:
        if text.lower() in ("0", FOREVER):
            return Lifetime(0)
        if (match := re.fullmatch(r"([0-9]{1,9})([smhd])", text.lower())) is not None:
            seconds = int(match[1]) * _SPANS[match[2]]
            if low <= seconds <= MAX_LIFETIME:
                return Lifetime(seconds)
        raise Expected(f"a time such as 30d or 12h, at least {Lifetime(low)}, or forever")

    return parse


def switch(text: str) -> bool:
    if text.lower() in ("true", "yes", "on", "1"):
        return True
    if text.lower() in ("false", "no", "off", "0"):
        return False
    raise Expected("true or false")


def choice(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() in choices:
            return text.lower()
        raise Expected(f"one of {', '.join(choices)}", closest(text.lower(), choices))

    return parse


def matching(pattern: str, what: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if re.fullmatch(pattern, text):
            return text
        raise Expected(what)

    return parse


def list_of(parse: Parse) -> Parse:
    def parse_all(text: str) -> tuple[Any, ...]:
        try:
            return tuple(parse(item.strip()) for item in text.split(",") if item.strip())
        except Expected as wrong:
            raise Expected(f"{wrong.what}; several are separated by commas", wrong.closest) from None

    return parse_all


def or_all(parse: Parse) -> Parse:
    return lambda text: "*" if text == "*" else parse(text)


def rate(text: str) -> Rate:
    if match := re.fullmatch(r"([0-9]{1,12})/([0-9]{1,9}|[a-z]+)", text):
        seconds = int(match[2]) if match[2].isdigit() else UNITS.get(match[2], 0)
        if int(match[1]) >= 1 and 1 <= seconds <= 31 * 86400:
            return Rate(int(match[1]), seconds)
    raise Expected("a number and a window of at most 31 days, such as 60/hour, 100/min or 10/60 (seconds)")


def per_tier(text: str) -> PerTier:
    bounds = [part.strip() for part in text.split(",")]
    if len(bounds) == 3 and all(re.fullmatch("[0-9]{1,15}|unlimited", bound) for bound in bounds):
        return PerTier(*(None if bound == "unlimited" else int(bound) for bound in bounds))
    raise Expected("three numbers for free, pro and enterprise, such as 2,20,unlimited")


def money(text: str) -> Money:
    """An amount above 0: a payment of 0 would be a signature over nothing."""
    if match := re.fullmatch(r"\$?([0-9]{1,6})(?:\.([0-9]{1,6}))?", text):
        amount = int(match[1]) * MILLION + int((match[2] or "").ljust(6, "0"))
        if amount:
            return Money(amount)
    raise Expected("dollars with at most six decimals, at least $0.000001, such as $0.005")


def money_or_none(text: str) -> Money:
    return Money(0) if re.fullmatch(r"\$?0(\.0{1,6})?", text) else money(text)


def share(text: str) -> float:
    if re.fullmatch(r"0(\.[0-9]{1,4})?|1", text):
        return float(text)
    raise Expected("a number from 0 to 1, such as 0.7")


def per_hour(text: str) -> Rate:
    return Rate(whole(1, 999_999_999)(text), 3600)


def address_block(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        try:
            near = str(ip_network(text, strict=False))
        except ValueError:
            near = ""
        raise Expected("a network such as 10.0.0.0/8 or fd00::/8", near) from None


def path(text: str) -> Path:
    return Path(os.path.expanduser(text)).absolute()


def link(text: str) -> str:
    """An absolute http(s) URL."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or re.search(r'[\s\x00-\x1f\x7f"<>\\]', text):
        near = f"https://{text}" if re.fullmatch(r"[\w.-]+(:\d+)?", text, re.ASCII) else ""
        raise Expected("an absolute URL beginning with http:// or https://", near)
    return text


def base(text: str) -> str:
    """A URL that paths are appended to."""
    if re.search("[?#@]", link(text)):
        raise Expected("a URL without user, query and fragment")
    if text.endswith("/"):
        raise Expected("a URL without a trailing slash", text.rstrip("/"))
    return text


def origin(text: str) -> str:
    if text != "*" and urlsplit(base(text)).path:
        raise Expected("an origin such as https://app.example, or *")
    return text


def webhook_secret(text: str) -> str:
    """The secret of Standard Webhooks, with its prefix."""
    encoded = text.removeprefix("whsec_")
    try:
        good = 24 <= len(base64.b64decode(encoded, validate=True)) <= 64
    except ValueError:
        good = False
    if not good:
        raise Expected("whsec_ and 24 to 64 bytes in base64; openssl rand -base64 32 makes one")
    return f"whsec_{encoded}"


def store(*schemes: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        scheme, separator, _ = text.partition("://")
        if not separator or scheme not in schemes:
            near = closest(scheme, schemes)
            raise Expected(" or ".join(f"{known}://…" for known in schemes), near and f"{near}://…")
        # Hosting platforms use the short spelling; the rest of the code expects the long one.
        return re.sub("^postgres://", "postgresql://", text)

    return parse


def closest(text: str, choices: Iterable[str]) -> str:
    from difflib import get_close_matches  # imported only for an error, so that the start stays fast

    return next(iter(get_close_matches(text, choices, 1)), "")
