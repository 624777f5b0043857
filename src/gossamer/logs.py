"""Logs: one JSON object a line on stderr, or a readable line when that is a terminal.

Everything passes through redaction, a line is always one line, and a line that cannot be written is counted
and otherwise forgotten: the server goes on. `install` also routes the standard library's `logging` here, so
that what libraries say looks like what we say.
"""

import logging
import os
import re
import stat
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TextIO

import msgspec

from gossamer.redaction import redact, redact_values

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
LONGEST_TEXT: Final = 8 * 1024
LONGEST_LINE: Final = 64 * 1024
DEEPEST: Final = 8
MOST_ITEMS: Final = 100

Fields = dict[str, Any]


class Log:
    """Where a process says what it does."""

    def __init__(
        self,
        stream: TextIO,
        *,
        level: str = "info",
        log_format: str = "auto",
        access: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.dropped = 0  # lines that could not be written
        self._least = LEVELS[level]
        self._access = access
        self._clock = clock
        self._write = _writer(stream)
        self._readable = log_format == "text" or (log_format == "auto" and stream.isatty())
        self._second = (-1, "")

    def request(
        self,
        *,
        request_id: str,
        endpoint: str,
        method: str,
        status: int,
        duration: float,
        cache_hit: bool | None = None,
        payment_network: str | None = None,
        payment_amount: str | None = None,
        error: str | None = None,
        client: str | None = None,
        caller: str | None = None,
        **fields: Any,
    ) -> None:
        """A line for an answered request. `duration` is in milliseconds, `endpoint` a route's template."""
        if not self._tells_of(status):
            return
        line = _request(
            self._timestamp(),
            request_id,
            round(duration, 3),
            endpoint=endpoint,
            method=method,
            status=status,
            cache_hit=cache_hit,
            payment_network=payment_network,
            payment_amount=payment_amount,
            error=error,
            client=client,
            caller=caller,
        )
        self._emit(line, fields)

    def requests(self, *, status: int, **common: Any) -> Callable[[str, float], None]:
        """What writes the lines of requests that have all but their id and duration in common."""
        form = b"" if self._readable else _json(_request(_GAP, _GAP, _GAP, status=status, **common))
        parts = form.split(b"\0")
        if len(parts) != 4 or not self._tells_of(status):
            return lambda request_id, duration: self.request(
                request_id=request_id, duration=duration, status=status, **common
            )
        first, second, third, last = (part.replace(b"%", b"%%") for part in parts)
        form = b'%b"%%b"%b"%%b"%b%%a%b\n' % (first, second, third, last)

        def tell(request_id: str, duration: float) -> None:
            self._put(form % (self._timestamp().encode(), request_id.encode(), round(duration, 3)))

        return tell

    def debug(self, event: str, message: str = "", **fields: Any) -> None:
        self.say("debug", event, message, **fields)

    def info(self, event: str, message: str = "", **fields: Any) -> None:
        self.say("info", event, message, **fields)

    def warning(self, event: str, message: str = "", **fields: Any) -> None:
        self.say("warning", event, message, **fields)

    def error(self, event: str, message: str = "", **fields: Any) -> None:
        self.say("error", event, message, **fields)

    def say(
        self, level: str, event: str, message: str = "", *, cause: BaseException | None = None, **fields: Any
    ) -> None:
        """A line about anything else; `cause` adds its traceback as the field `exception`."""
        if LEVELS[level] < self._least:
            return
        line = {
            "timestamp": self._timestamp(),
            "level": level,
            "event": _text(event),
            "message": _text(message),
        }
        if cause is not None:
            line["exception"] = _traceback(cause)
        self._emit(line, fields)

    def _timestamp(self) -> str:
        second, millisecond = divmod(int(self._clock() * 1000), 1000)
        known, text = self._second
        if second != known:
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = (second, text)
        return f"{text}.{millisecond:03}Z"

    def _tells_of(self, status: int) -> bool:
        return status >= 500 or (self._access and self._least <= LEVELS["info"])

    def _emit(self, line: Fields, fields: Mapping[str, Any]) -> None:
        try:
            if fields:
                line = {**line, **_bounded(redact_values(_plain(fields))), **line}
            encoded = _readable(line) if self._readable else _json(line)
        except (ValueError, RecursionError):  # a value is beyond telling
            self.dropped += 1
        else:
            self._put(encoded + b"\n")

    def _put(self, line: bytes) -> None:
        try:
            self._write(line)
        except (OSError, ValueError):  # the pipe is broken, the disk is full, the stream is closed
            self.dropped += 1


def install(
    level: str = "info", stream: TextIO | None = None, *, log_format: str = "auto", access: bool = True
) -> Log:
    """A log on `stream` (stderr) that also receives what libraries and the interpreter have to say."""
    log = Log(stream or sys.stderr, level=level, log_format=log_format, access=access)
    root = logging.getLogger()
    root.handlers[:] = [_Handler(log)]
    # Libraries take "info" as leave to describe every statement; that is for debugging only.
    root.setLevel(logging.INFO if level == "debug" else max(LEVELS[level], logging.WARNING))
    logging.captureWarnings(True)
    return log


class _Handler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level = next((name for name, least in reversed(LEVELS.items()) if record.levelno >= least), "debug")
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - whatever is wrong with the arguments, the message matters more
            message = str(record.msg)
        cause = record.exc_info[1] if record.exc_info else None
        self._log.say(level, "log", message, cause=cause, logger=record.name)


def _writer(stream: TextIO) -> Callable[[bytes], None]:
    """Straight to the descriptor: nothing is left in a buffer that would fail again later."""
    try:
        descriptor = _unblocked(stream.fileno())
    except (OSError, ValueError):
        return lambda line: (stream.write(line.decode()), stream.flush())[1]
    torn = False  # the last line was written in part, so the next begins on a new one

    def write(line: bytes) -> None:
        nonlocal torn
        line = b"\n" + line if torn else line
        sent = 0
        try:
            while sent < len(line):
                sent += os.write(descriptor, line[sent:])
        finally:
            torn = sent < len(line) and (torn or sent > 0)

    return write


def _unblocked(descriptor: int) -> int:
    """A pipe whose reader stalls must not stall the server: opened anew, it refuses instead of waiting.

    Anew, because the mode belongs to the open file, which may be shared with other processes.
    """
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return descriptor
    try:
        return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return descriptor


# What is told, made safe.


def _request(
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
    client: str | None = None,
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
        "client": client and _familiar(client),
        "caller": caller and _familiar(caller),
    }


def _text(text: str) -> str:
    """Redacted, bounded, and valid Unicode."""
    return _cut(redact(_valid(_head(text))))


_familiar = lru_cache(maxsize=4096)(_text)  # for what most requests have in common


def _head(text: str, longest: int = 4 * LONGEST_TEXT) -> str:
    """More than will be told, so that redaction sees what follows; to the end of a word, so none is cut."""
    if len(text) <= longest:
        return text
    head = text[:longest]
    return head.rpartition(" ")[0] or head


def _valid(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _traceback(cause: BaseException) -> str:
    told = "".join(traceback.format_exception(cause, limit=-30))
    text = redact(_valid(_head(told, 16 * LONGEST_TEXT)))
    if len(text) > LONGEST_TEXT:  # where it began is at the start, what was raised at the end
        text = f"{text[: LONGEST_TEXT // 4]}\n…\n{text[-LONGEST_TEXT // 2 :]}"
    return text


def _plain(value: Any, depth: int = 0) -> Any:
    """Only what JSON knows, and not too much of it."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else str(int(value))
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return _valid(_head(value[:]))
    if depth < DEEPEST and isinstance(value, Mapping):
        items = list(value.items())[:MOST_ITEMS]
        return {str(_plain(key, DEEPEST)): _plain(item, depth + 1) for key, item in items}
    if depth < DEEPEST and isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in list(value)[:MOST_ITEMS]]
    try:
        return _plain(f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value))
    except Exception:  # noqa: BLE001 - a value that cannot describe itself must not stop who logs it
        return f"<{type(value).__name__}>"


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, dict):
        return {_cut(key): _bounded(item) for key, item in value.items()}
    return [_bounded(item) for item in value] if isinstance(value, list) else value


# How it is told.

_GAP: Final = msgspec.Raw(b"\0")  # which JSON itself never contains
_encode: Final = msgspec.json.Encoder().encode
# Beyond what JSON itself escapes: whatever ends a line somewhere, steers a terminal or turns text around.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


def _json(line: Fields) -> bytes:
    encoded = _encode(line)
    if len(encoded) > LONGEST_LINE:
        kept = {
            name: line[name]
            for name in ("timestamp", "level", "event", "requestId", "message")
            if name in line
        }
        encoded = _encode({**kept, "truncated": len(encoded)})
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return _escaped(encoded.decode()).encode()


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _readable(line: Fields) -> bytes:
    told = {name: value for name, value in line.items() if value is not None and value != ""}
    moment, level, event = told.pop("timestamp")[11:-1], told.pop("level").upper(), told.pop("event")
    message, exception = told.pop("message", ""), told.pop("exception", "")
    if event == "request":
        message = "{method} {endpoint} {status} {duration} ms".format(**told)
        for name in ("method", "endpoint", "status", "duration"):
            del told[name]
    rest = " ".join(f"{name}={_shown(value)}" for name, value in told.items())
    first = "  ".join(part for part in (f"{moment} {level:7} {event}", message, rest) if part)
    return "\n    ".join(_escaped(part) for part in (first, *exception.splitlines())).encode()


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[^\s\"=]+", value) else _encode(value).decode()
