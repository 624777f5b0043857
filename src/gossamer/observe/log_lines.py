"""Log lines: values made safe to log, and the lines of JSON or text that are made of them.

Everything is redacted, bounded and valid Unicode, and a line never contains another one.
"""

import re
import traceback
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from gossamer.observe.redaction import redact, redact_values

MAX_TEXT_CHARS: Final = 8 * 1024
MAX_LINE_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 8
MAX_ITEMS: Final = 100

Fields = dict[str, Any]


def safe_text(text: str) -> str:
    """Redacted, bounded, and valid Unicode."""
    return _cut(redact(_valid(_head(text))))


_familiar = lru_cache(maxsize=4096)(safe_text)  # for values that most requests share


def _head(text: str, longest: int = 4 * MAX_TEXT_CHARS) -> str:
    """More than is logged, so that redaction sees whole secrets; cut at the end of a word."""
    if len(text) <= longest:
        return text
    head = text[:longest]
    return head.rpartition(" ")[0] or head


def _valid(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 1] + "…"


def traceback_text(cause: BaseException) -> str:
    formatted = "".join(traceback.format_exception(cause, limit=-30))
    text = redact(_valid(_head(formatted, 16 * MAX_TEXT_CHARS)))
    if len(text) > MAX_TEXT_CHARS:  # the outermost frame is at the start, the exception at the end
        text = f"{text[: MAX_TEXT_CHARS // 4]}\n…\n{text[-MAX_TEXT_CHARS // 2 :]}"
    return text


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON types, in bounded size and depth."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else str(int(value))
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return _valid(_head(value[:]))
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        items = list(value.items())[:MAX_ITEMS]
        return {str(_plain(key, MAX_DEPTH)): _plain(item, depth + 1) for key, item in items}
    if depth < MAX_DEPTH and isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in list(value)[:MAX_ITEMS]]
    try:
        return _plain(f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value))
    except Exception:  # noqa: BLE001 - a value whose __str__ fails must not stop the caller
        return f"<{type(value).__name__}>"


def safe_fields(fields: Mapping[str, Any]) -> Fields:
    """The fields of a line as redacted JSON types, in bounded size and depth."""
    bounded: Fields = _bound(redact_values(_plain(fields)))
    return bounded


def _bound(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, dict):
        return {_cut(key): _bound(item) for key, item in value.items()}
    return [_bound(item) for item in value] if isinstance(value, list) else value


# Lines.

GAP: Final = msgspec.Raw(b"\0")  # stands for a value that comes later; never part of valid JSON
encode: Final = msgspec.json.Encoder().encode
# Characters that JSON does not escape, but that end a line, control a terminal or reverse text.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


# What `request_fields` and `to_json` make, for the one line that every request writes. Most of it is the same
# for many requests: what was asked, and what came of it for whom.
REQUEST_LINE: Final = (
    b'{"timestamp":"%b","level":"%b","event":"request","requestId":"%b",%b,"duration":%.3f,%b}\n'
)
_ASKED: Final = b'"endpoint":%b,"method":%b,"status":%d'
_ANSWERED: Final = b'"cacheHit":%b,"paymentNetwork":%b,"paymentAmount":%b,"error":%b,"client":%b,"caller":%b'


@lru_cache(maxsize=4096)
def request_asked(endpoint: str, method: str, status: int) -> bytes:
    return _ASKED % (json_text(endpoint), json_text(method), status)


@lru_cache(maxsize=4096)
def request_answered(cache_hit: bool | None, *texts: str | None) -> bytes:
    return _ANSWERED % (encode(cache_hit), *map(json_text, texts))


def request_fields(
    timestamp: object,
    request_id: object,
    duration: object,
    *,
    endpoint: str,
    method: str,
    status: int,
    cache_hit: bool | None = None,
    payment_network: str | None = None,
    payment_amount: str | None = None,
    error: str | None = None,
    client: str | msgspec.Raw | None = None,
    caller: str | None = None,
) -> Fields:
    return {
        "timestamp": timestamp,
        "level": "error" if status >= 500 else "info",
        "event": "request",
        "requestId": request_id,
        "endpoint": _familiar(endpoint),
        "method": _familiar(method),
        "status": status,
        "duration": duration,
        "cacheHit": cache_hit,
        "paymentNetwork": payment_network and _familiar(payment_network),
        "paymentAmount": payment_amount and _familiar(payment_amount),
        "error": error and _familiar(error),
        "client": _familiar(client) if client and isinstance(client, str) else client,
        "caller": caller and _familiar(caller),
    }


@lru_cache(maxsize=4096)
def json_text(text: str | None) -> bytes:
    return _escaped(encode(text and safe_text(text)))


def to_json(line: Fields) -> bytes:
    encoded = encode(line)
    if len(encoded) > MAX_LINE_BYTES:
        kept = {
            name: line[name]
            for name in ("timestamp", "level", "event", "requestId", "message")
            if name in line
        }
        encoded = encode({**kept, "truncated": len(encoded)})
    return _escaped(encoded)


def _escaped(encoded: bytes) -> bytes:
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return _escape(encoded.decode()).encode()


def _escape(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def to_readable(line: Fields) -> bytes:
    fields = {name: value for name, value in line.items() if value is not None and value != ""}
    moment, level, event = fields.pop("timestamp")[11:-1], fields.pop("level").upper(), fields.pop("event")
    message, exception = fields.pop("message", ""), fields.pop("exception", "")
    if event == "request":
        message = "{method} {endpoint} {status} {duration} ms".format(**fields)
        for name in ("method", "endpoint", "status", "duration"):
            del fields[name]
    rest = " ".join(f"{name}={_format_value(value)}" for name, value in fields.items())
    first = "  ".join(part for part in (f"{moment} {level:7} {event}", message, rest) if part)
    return "\n    ".join(_escape(part) for part in (first, *exception.splitlines())).encode()


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[^\s\"=]+", value) else encode(value).decode()
