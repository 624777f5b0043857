"""Logs: one JSON object a line on stderr, or a readable line when that is a terminal.

Everything is redacted, and an entry is always one line. A line that cannot be written is counted and dropped,
and the server continues. `install` also routes the standard library's `logging` here, so that the messages of
libraries look like ours.
"""

import logging
import os
import re
import stat
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from select import PIPE_BUF
from typing import Any, Final, TextIO

import msgspec

from gossamer.observe.redaction import redact, redact_values

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
MAX_TEXT_CHARS: Final = 8 * 1024
MAX_LINE_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 8
MAX_ITEMS: Final = 100

Fields = dict[str, Any]

_request_id: ContextVar[str] = ContextVar("request_id", default="")


class concerning:  # noqa: N801  (used as a function; written as a class because every request pays for it)
    """Mark everything in the block as work for this request, so that log lines can name it."""

    __slots__ = ("_before", "_id")

    def __init__(self, request_id: str) -> None:
        self._id = request_id

    def __enter__(self) -> None:
        self._before = _request_id.set(self._id)

    def __exit__(self, *_: object) -> None:
        _request_id.reset(self._before)


def current_request() -> str:
    """The id of the current request; empty if there is none."""
    return _request_id.get()


class Log:
    """Writes the log of a process."""

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
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._held: list[bytes] = []  # lines of requests, until the end of this turn of the event loop
        # Hears of every error that has a cause: these are the defects that nothing else has handled.
        self.on_defect: Callable[[str, BaseException, Mapping[str, Any]], None] | None = None

    def write_together(self, call_soon: Callable[[Callable[[], None]], object] | None) -> None:
        """Write the lines of the requests that are answered in one turn of the event loop at its end, with
        few calls of the system. Requests are logged in the thread of that loop only."""
        self._call_soon = call_soon
        self._write_held()

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
        """Log an answered request. `duration` is in milliseconds, `endpoint` is the route's template."""
        if not self._logs_status(status):
            return
        at, duration = self._timestamp(), round(duration, 3)
        if not self._readable and not fields:
            form = _REQUEST_LINE % (
                at.encode(),
                b"error" if status >= 500 else b"info",
                request_id.encode(),
                _json_text(endpoint),
                _json_text(method),
                status,
                duration,
                _encode(cache_hit),
                _json_text(payment_network),
                _json_text(payment_amount),
                _json_text(error),
                _json_text(client),
                _json_text(caller),
            )
            if len(form) <= MAX_LINE_BYTES:
                self._hold(form)
                return
        line = _request(
            at,
            request_id,
            duration,
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

    def requests(self, *, status: int, **common: Any) -> Callable[[str, float, str], None]:
        """A function that logs requests which differ only in their id, duration and client."""
        gaps = (_GAP, _GAP, _GAP)
        form = b"" if self._readable else _json(_request(*gaps, status=status, client=_GAP, **common))
        parts = form.split(b"\0")
        if len(parts) != 5 or not self._logs_status(status):
            return lambda request_id, duration, client: self.request(
                request_id=request_id, duration=duration, client=client, status=status, **common
            )
        form = b'%b"%%b"%b"%%b"%b%%a%b%%b%b\n' % tuple(part.replace(b"%", b"%%") for part in parts)

        def write_line(request_id: str, duration: float, client: str) -> None:
            at = self._timestamp().encode()
            self._hold(form % (at, request_id.encode(), round(duration, 3), _json_text(client)))

        return write_line

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
        """Log an event; `cause` adds its traceback as the field `exception`."""
        if cause is not None and level == "error" and self.on_defect is not None:
            self.on_defect(event, cause, fields)
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

    def _logs_status(self, status: int) -> bool:
        return status >= 500 or (self._access and self._least <= LEVELS["info"])

    def _emit(self, line: Fields, fields: Mapping[str, Any]) -> None:
        try:
            if fields:
                line = {**line, **_bound(redact_values(_plain(fields))), **line}
            encoded = _readable(line) if self._readable else _json(line)
        except (ValueError, RecursionError):  # a value cannot be encoded
            self.dropped += 1
        else:
            self._put(encoded + b"\n")

    def _hold(self, line: bytes) -> None:
        if self._call_soon is None:
            self._put(line)
            return
        if not self._held:
            self._call_soon(self._write_held)
        self._held.append(line)

    def _write_held(self) -> None:
        """Write as many lines at once as stay whole in a pipe that other processes write to as well."""
        held, self._held = self._held, []
        first, size = 0, 0
        for number, line in enumerate(held):
            if size and size + len(line) > PIPE_BUF:
                self._put(b"".join(held[first:number]), number - first)
                first, size = number, 0
            size += len(line)
        if held:
            self._put(b"".join(held[first:]), len(held) - first)

    def _put(self, lines: bytes, number: int = 1) -> None:
        try:
            self._write(lines)
        except (OSError, ValueError):  # the pipe is broken, the disk is full, the stream is closed
            self.dropped += number


def install(
    level: str = "info", stream: TextIO | None = None, *, log_format: str = "auto", access: bool = True
) -> Log:
    """A log on `stream` (stderr) that also receives the messages of libraries and warnings."""
    log = Log(stream or sys.stderr, level=level, log_format=log_format, access=access)
    root = logging.getLogger()
    root.handlers[:] = [_Handler(log)]
    # At "info", libraries log every statement; that is for debugging only.
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
        except Exception:  # noqa: BLE001 - bad arguments must not lose the message
            message = str(record.msg)
        cause = record.exc_info[1] if record.exc_info else None
        self._log.say(level, "log", message, cause=cause, logger=record.name)


def _writer(stream: TextIO) -> Callable[[bytes], None]:
    """A function that writes to the descriptor, without a buffer that could fail again later."""
    try:
        descriptor = _unblock(stream.fileno())
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


def _unblock(descriptor: int) -> int:
    """Open a pipe again in non-blocking mode, so that a reader that stalls does not stall the server.

    The mode belongs to the open file, which other processes may share, so the file is opened a second time.
    """
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return descriptor
    try:
        return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return descriptor


# Make values safe to log.


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


def _text(text: str) -> str:
    """Redacted, bounded, and valid Unicode."""
    return _cut(redact(_valid(_head(text))))


_familiar = lru_cache(maxsize=4096)(_text)  # for values that most requests share


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


def _traceback(cause: BaseException) -> str:
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


def _bound(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, dict):
        return {_cut(key): _bound(item) for key, item in value.items()}
    return [_bound(item) for item in value] if isinstance(value, list) else value


# Format a line.

_GAP: Final = msgspec.Raw(b"\0")  # never part of valid JSON
_encode: Final = msgspec.json.Encoder().encode
# Characters that JSON does not escape, but that end a line, control a terminal or reverse text.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


# What `_request` and `_json` make, for the one line that every request writes.
_REQUEST_LINE: Final = (
    b'{"timestamp":"%b","level":"%b","event":"request","requestId":"%b","endpoint":%b,"method":%b,"status":%d'
    b',"duration":%a,"cacheHit":%b,"paymentNetwork":%b,"paymentAmount":%b,"error":%b,"client":%b,"caller":%b}\n'
)


@lru_cache(maxsize=4096)
def _json_text(text: str | None) -> bytes:
    return _escaped(_encode(text and _text(text)))


def _json(line: Fields) -> bytes:
    encoded = _encode(line)
    if len(encoded) > MAX_LINE_BYTES:
        kept = {
            name: line[name]
            for name in ("timestamp", "level", "event", "requestId", "message")
            if name in line
        }
        encoded = _encode({**kept, "truncated": len(encoded)})
    return _escaped(encoded)


def _escaped(encoded: bytes) -> bytes:
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return _escape(encoded.decode()).encode()


def _escape(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _readable(line: Fields) -> bytes:
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
    return value if isinstance(value, str) and re.fullmatch(r"[^\s\"=]+", value) else _encode(value).decode()
