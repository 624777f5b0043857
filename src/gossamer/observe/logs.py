"""Logs: one JSON object a line on stderr, or a readable line when that is a terminal.

Everything is redacted, and an entry is always one line. A line that cannot be written is counted and dropped,
and the server continues. `install` also routes the standard library's `logging` here, so that the messages of
libraries look like ours.
"""

import logging
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from select import PIPE_BUF
from typing import Any, Final, TextIO

from gossamer.observe.log_lines import (
    GAP,
    MAX_LINE_BYTES,
    REQUEST_LINE,
    Fields,
    json_text,
    request_answered,
    request_asked,
    request_fields,
    safe_fields,
    safe_text,
    to_json,
    to_readable,
    traceback_text,
)

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_request_id: ContextVar[str] = ContextVar("request_id", default="")

# What follows is work for this request, so that log lines can name it, until the mark is taken off again.
mark_request: Final = _request_id.set
unmark_request: Final = _request_id.reset


@contextmanager
def concerning(request_id: str) -> Iterator[None]:
    """Mark everything in the block as work for this request."""
    before = mark_request(request_id)
    try:
        yield
    finally:
        unmark_request(before)


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
        self._moment, self._moment_text = -1, ""
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
        at = self._timestamp()
        if not self._readable and not fields:
            form = REQUEST_LINE % (
                at.encode(),
                b"error" if status >= 500 else b"info",
                request_id.encode(),
                request_asked(endpoint, method, status),
                duration,
                request_answered(cache_hit, payment_network, payment_amount, error, client, caller),
            )
            if len(form) <= MAX_LINE_BYTES:
                self._hold(form)
                return
        line = request_fields(
            at,
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

    def requests(self, *, status: int, **common: Any) -> Callable[[str, float, str], None]:
        """A function that logs requests which differ only in their id, duration and client."""
        gaps = (GAP, GAP, GAP)
        form = b"" if self._readable else to_json(request_fields(*gaps, status=status, client=GAP, **common))
        parts = form.split(b"\0")
        if len(parts) != 5 or not self._logs_status(status):
            return lambda request_id, duration, client: self.request(
                request_id=request_id, duration=duration, client=client, status=status, **common
            )
        form = b'%b"%%b"%b"%%b"%b%%.3f%b%%b%b\n' % tuple(part.replace(b"%", b"%%") for part in parts)

        def write_line(request_id: str, duration: float, client: str) -> None:
            at = self._timestamp().encode()
            self._hold(form % (at, request_id.encode(), duration, json_text(client)))

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
            "event": safe_text(event),
            "message": safe_text(message),
        }
        if cause is not None:
            line["exception"] = traceback_text(cause)
        self._emit(line, fields)

    def _timestamp(self) -> str:
        moment = int(self._clock() * 1000)
        if moment != self._moment:  # many requests are answered in the same millisecond
            self._moment, self._moment_text = moment, _iso(moment)
        return self._moment_text

    def _logs_status(self, status: int) -> bool:
        return status >= 500 or (self._access and self._least <= LEVELS["info"])

    def _emit(self, line: Fields, fields: Mapping[str, Any]) -> None:
        try:
            if fields:
                line = {**line, **safe_fields(fields), **line}
            encoded = to_readable(line) if self._readable else to_json(line)
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


def _iso(milliseconds: int) -> str:
    second, millisecond = divmod(milliseconds, 1000)
    return f"{_iso_second(second)}.{millisecond:03}Z"


@lru_cache(maxsize=1)
def _iso_second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


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
