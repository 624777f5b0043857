import io
import json
import logging
import os
import pty
import select
import socket
import warnings
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.observe.log_lines import MAX_LINE_BYTES, MAX_TEXT_CHARS
from gossamer.observe.logs import Log, install
from gossamer.observe.redaction import REDACTED

NOON = 1_764_417_600.0  # 2025-11-29T12:00:00Z


def log_to(stream: io.StringIO, **options: Any) -> Log:
    return Log(stream, clock=lambda: NOON + 0.1239, **options)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    text = stream.getvalue()
    assert not text or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def said(event: str = "event", message: str = "", **fields: Any) -> dict[str, Any]:
    stream = io.StringIO()
    log_to(stream).info(event, message, **fields)
    (line,) = lines(stream)
    return line


def request(log: Log, **fields: Any) -> None:
    known: dict[str, Any] = {"endpoint": "/fetch/basic", "method": "POST", "status": 200, "duration": 1234.0}
    log.request(**{"request_id": "wl_m5x7k2_a3b9c1", **known, **fields})


@pytest.fixture
def standard_library() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logging.captureWarnings(False)  # another test may have left it on, which keeps it from being set up
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def test_a_request_has_the_fields_of_the_format() -> None:
    stream = io.StringIO()
    request(
        log_to(stream),
        cache_hit=True,
        payment_network="base-sepolia",
        payment_amount="5000",
        client="203.0.113.7",
        caller="sk_live_abc1234...",
        policy="user",
    )
    assert lines(stream) == [
        {
            "timestamp": "2025-11-29T12:00:00.123Z",
            "level": "info",
            "event": "request",
            "requestId": "wl_m5x7k2_a3b9c1",
            "endpoint": "/fetch/basic",
            "method": "POST",
            "status": 200,
            "duration": 1234,
            "cacheHit": True,
            "paymentNetwork": "base-sepolia",
            "paymentAmount": "5000",
            "error": None,
            "client": "203.0.113.7",
            "caller": "sk_live_abc1234...",
            "policy": "user",
        }
    ]


def test_other_events_have_level_event_message_and_fields() -> None:
    assert said("job_done", "The job is done", job="01J", pages=3) == {
        "timestamp": "2025-11-29T12:00:00.123Z",
        "level": "info",
        "event": "job_done",
        "message": "The job is done",
        "job": "01J",
        "pages": 3,
    }


def test_fields_do_not_replace_the_line_s_own() -> None:
    stream = io.StringIO()
    request(log_to(stream), level="x", timestamp="y")
    assert lines(stream)[0]["level"] == "info"
    assert lines(stream)[0]["timestamp"].startswith("2025")


def test_the_clock_moves_on() -> None:
    times = iter([NOON, NOON + 59.9995, NOON + 60])
    stream = io.StringIO()
    log = Log(stream, clock=lambda: next(times))
    for _ in range(3):
        log.info("tick")
    assert [line["timestamp"][14:] for line in lines(stream)] == ["00:00.000Z", "00:59.999Z", "01:00.000Z"]


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_levels(level: str, heard: list[str]) -> None:
    stream = io.StringIO()
    log = log_to(stream, level=level)
    for say in (log.debug, log.info, log.warning, log.error):
        say("event")
    assert [line["level"] for line in lines(stream)] == heard


def test_without_the_access_log_only_failures_are_told() -> None:
    for options in ({"access": False}, {"level": "error"}):
        stream = io.StringIO()
        log = log_to(stream, **options)
        request(log, status=200)
        request(log, status=429)
        request(log, status=503, error="SERVICE_UNAVAILABLE")
        assert [(line["status"], line["level"]) for line in lines(stream)] == [(503, "error")]


@pytest.mark.parametrize("options", [{}, {"log_format": "text"}, {"access": False}])
@pytest.mark.parametrize(
    "endpoint", ["/api/render", "/100%/%b", 'a"b\\', "/käse", "/\x00\x7f\u2028", "sk_live_hunter2"]
)
def test_requests_with_much_in_common_are_told_like_any_other(options: dict[str, Any], endpoint: str) -> None:
    alone, together = io.StringIO(), io.StringIO()
    common = {"endpoint": endpoint, "method": "POST", "cache_hit": True}
    tell = log_to(together, **options).requests(status=200, **common)
    for request_id, duration, client in (
        ("wl_m5x7k2_a3b9c1", 1234.0, "203.0.113.7"),
        ("wl_m5x7k2_b3b9c1", 0.123456, '"\u2028\x7f%b'),
    ):
        request(log_to(alone, **options), request_id=request_id, duration=duration, client=client, **common)
        tell(request_id, duration, client)
    assert together.getvalue() == alone.getvalue()
    assert bool(alone.getvalue()) == options.get("access", True)


def test_a_line_of_many_that_cannot_be_written_is_counted() -> None:
    stream = io.StringIO()
    log = log_to(stream)
    tell = log.requests(status=200, endpoint="/", method="GET")
    stream.close()
    tell("wl_m5x7k2_a3b9c1", 1.0, "203.0.113.7")
    assert log.dropped == 1


def test_everything_is_redacted() -> None:
    line = said(
        "event", "token=hunter2", password="hunter2", deep={"a": [{"apiKey": "hunter2"}]}, raw=b"pwd=hunter2"
    )
    assert "hunter2" not in json.dumps(line)
    assert line["deep"] == {"a": [{"apiKey": REDACTED}]}
    stream = io.StringIO()
    secret = "sk_live_hunter2hunter2hunter2"
    request(
        log_to(stream), endpoint=secret, error=f"token={secret}", client=secret, caller=secret, method=secret
    )
    assert "hunter2" not in stream.getvalue()


def test_a_line_is_always_a_line() -> None:
    nasty = "a\nb\r\x00\x1b[2J\x7f\x85\x9b\u2028\u2029\u202e\ud800\ufeff" + "".join(map(chr, range(32)))
    stream = io.StringIO()
    log = log_to(stream)
    log.info(nasty, nasty, **{nasty: nasty})
    request(log, endpoint=nasty, error=nasty, free={nasty: [nasty]})
    text = stream.getvalue()
    assert len(text.splitlines()) == 2
    assert all(character.isprintable() for character in text.replace("\n", ""))
    assert lines(stream)[0]["message"].startswith(
        "a\nb\r\x00\x1b[2J\x7f\x85\x9b\u2028\u2029\u202e\\ud800\ufeff"
    )


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.text(), st.recursive(st.none() | st.integers() | st.floats() | st.text() | st.binary(), st.lists)
    )
)
def test_property_whatever_is_told_is_one_line_of_json(fields: dict[str, Any]) -> None:
    stream = io.StringIO()
    log = log_to(stream)
    log.say("info", "event", **{f"x{name}": value for name, value in fields.items()})
    assert log.dropped == 0
    assert len(stream.getvalue().splitlines()) == len(lines(stream)) == 1


def test_long_text_is_cut() -> None:
    line = said("event", "word " * 100_000, field="é" * 100_000, words=["x" * 20_000])
    assert len(line["message"]) == len(line["field"]) == len(line["words"][0]) == MAX_TEXT_CHARS
    assert line["message"].endswith("…")


def test_a_secret_at_the_cut_is_not_told() -> None:
    for before in range(4 * MAX_TEXT_CHARS - 60, 4 * MAX_TEXT_CHARS + 10, 5):
        text = (
            "password=x " * (before // 11)
            + "y" * (before % 11)
            + " postgresql://ada:hunter2@db/x "
            + "z " * 99
        )
        line = said("event", text, field=text)
        assert "hunter" not in line["message"] + line["field"]


def test_a_long_line_is_told_in_short() -> None:
    stream = io.StringIO()
    log_to(stream).info(
        "event", "what happened", **{f"f{number}": "x" * MAX_TEXT_CHARS for number in range(20)}
    )
    (line,) = lines(stream)
    assert line["event"] == "event"
    assert line["message"] == "what happened"
    assert line["truncated"] > MAX_LINE_BYTES
    assert len(stream.getvalue()) < MAX_LINE_BYTES


class Colour(StrEnum):
    RED = "red"


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_values_of_any_kind_can_be_told() -> None:
    loop: list[Any] = []
    loop += [loop, loop]
    line = said(
        big=2**70,
        small=-(2**63),
        colour=Colour.RED,
        mute=Mute(),
        error=ValueError("token=hunter2"),
        keys={1: "one", (2, 3): "two", b"three": 3},
        several={7},
        infinite=float("inf"),
        many=list(range(1000)),
    )
    assert line["big"] == str(2**70)
    assert line["small"] == -(2**63)
    assert line["colour"] == "red"
    assert line["mute"] == "<Mute>"
    assert line["error"] == "ValueError: token=[REDACTED]"
    assert line["keys"] == {"1": "one", "(2, 3)": "two", "three": 3}
    assert line["several"] == [7]
    assert line["infinite"] is None
    assert len(line["many"]) == 100
    assert said(loop=loop)["event"] == "event"


def test_an_exception_is_one_field_without_its_secrets() -> None:
    try:
        raise ValueError("password='hunter2 and more' " + "x" * 50_000 + " the end")
    except ValueError as error:
        stream = io.StringIO()
        log_to(stream).error("failed", "It failed", cause=error)
    (line,) = lines(stream)
    assert line["exception"].startswith("Traceback (most recent call last):\n")
    assert "hunter2" not in line["exception"]
    assert line["exception"].endswith(" the end\n")
    assert len(line["exception"]) <= MAX_TEXT_CHARS


def test_the_standard_library_s_logging_is_routed(standard_library: None) -> None:
    stream = io.StringIO()
    install("info", stream)
    library = logging.getLogger("uvicorn.error")
    library.info("too much detail")
    library.warning("bad %s", "token=hunter2")
    library.error("does not fit %d", "this")
    library.critical("worse")
    try:
        raise KeyError("x")
    except KeyError:
        library.exception("caught")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("careful", UserWarning, stacklevel=1)
    told = lines(stream)
    assert [(line["level"], line["message"]) for line in told[:4]] == [
        ("warning", "bad token=[REDACTED]"),
        ("error", "does not fit %d"),
        ("error", "worse"),
        ("error", "caught"),
    ]
    assert told[0]["event"] == "log"
    assert told[0]["logger"] == "uvicorn.error"
    assert told[3]["exception"].endswith("KeyError: 'x'\n")
    assert "careful" in told[4]["message"]


def test_libraries_are_told_in_detail_when_debugging(standard_library: None) -> None:
    stream = io.StringIO()
    install("debug", stream)
    logging.getLogger("library").info("detail")
    assert lines(stream)[0]["message"] == "detail"
    install("error", stream)
    logging.getLogger("library").warning("not serious")
    assert len(lines(stream)) == 1


def test_a_broken_pipe_does_no_harm() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream:
        log = Log(stream)
        log.info("heard")
        assert json.loads(os.read(reader, 1000))["event"] == "heard"
        os.close(reader)
        log.info("unheard")
        assert log.dropped == 1


def test_a_full_disk_does_no_harm() -> None:
    with open("/dev/full", "w") as stream:
        log = Log(stream)
        log.info("unwritten")
        assert log.dropped == 1


def test_a_closed_stream_does_no_harm() -> None:
    stream = io.StringIO()
    log = Log(stream)
    stream.close()
    log.info("unwritten")
    assert log.dropped == 1


def test_after_a_torn_line_the_next_begins_on_its_own() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with os.fdopen(writer, "w") as stream, os.fdopen(reader, "rb") as heard:
        os.set_blocking(reader, False)
        log = Log(stream)
        while not log.dropped:
            log.info("fill", "x" * 5000)
        received = heard.read()
        log.info("later")
        received += heard.read()
    *_, torn, last, rest = received.split(b"\n")
    assert not torn.endswith(b"}")
    assert json.loads(last)["event"] == "later"
    assert rest == b""


def test_a_terminal_gets_readable_lines() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        log = Log(stream, clock=lambda: NOON)
        request(log, caller="sk_live_abc1234...", cache_hit=False)
        log.warning("slow\n", "It is\x1b[2J slow", host="a.example", why="a b", password="hunter2")
        heard = b""
        while heard.count(b"\n") < 2:
            heard += os.read(master, 10_000)
        text = heard.decode().replace("\r\n", "\n")
    os.close(master)
    assert text == (
        "12:00:00.000 INFO    request  POST /fetch/basic 200 1234.0 ms  "
        "requestId=wl_m5x7k2_a3b9c1 cacheHit=false caller=sk_live_abc1234...\n"
        "12:00:00.000 WARNING slow\\u000a  It is\\u001b[2J slow  "
        'host=a.example why="a b" password=[REDACTED]\n'
    )


def test_the_format_can_be_chosen() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        Log(stream, log_format="json").info("event")
        assert json.loads(os.read(master, 1000))["event"] == "event"
    os.close(master)
    text = io.StringIO()
    try:
        raise ValueError("a\nb")
    except ValueError as error:
        log_to(text, log_format="text").error("failed", cause=error)
    assert text.getvalue().splitlines()[0] == "12:00:00.123 ERROR   failed"
    assert text.getvalue().splitlines()[-1] == "    b"


def test_a_stalled_reader_does_not_stall_the_server() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"), os.fdopen(writing, "w") as stream:
        log = Log(stream)
        for _ in range(2_000):
            log.warning("full", "x" * 100)
        assert log.dropped > 0
        assert os.get_blocking(stream.fileno())


def test_lines_of_one_turn_are_written_together_and_in_order() -> None:
    stream, turns = io.StringIO(), list[Callable[[], None]]()
    log = log_to(stream)
    log.write_together(turns.append)
    names = [f"wl_m5x7k2_{number:06}" for number in range(50)]
    for name in names:
        request(log, request_id=name)
    assert (stream.getvalue(), len(turns)) == ("", 1)
    turns.pop()()
    assert [line["requestId"] for line in lines(stream)] == names
    request(log, request_id="wl_m5x7k2_a3b9c1")
    log.write_together(None)  # as at the end of the server
    assert lines(stream)[-1]["requestId"] == "wl_m5x7k2_a3b9c1"


def test_lines_that_are_written_together_stay_whole_in_a_pipe_that_others_use() -> None:
    """A write of at most PIPE_BUF bytes is never mixed with one of another process."""
    turns: list[Callable[[], None]] = []
    reading, writing = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # it shows single writes
    with reading, writing, open(writing.fileno(), "w", closefd=False) as stream:
        log = Log(stream)
        log.write_together(turns.append)
        for _ in range(40):
            request(log, endpoint="/" + "a" * 900)
        turns.pop()()
        reading.setblocking(False)
        writes = [reading.recv(65_536) for _ in range(14)]
        with pytest.raises(BlockingIOError):
            reading.recv(1)
    assert max(map(len, writes)) <= select.PIPE_BUF
    whole = [json.loads(line) for write in writes for line in write.splitlines()]
    assert [len(line["endpoint"]) for line in whole] == [901] * 40


def test_lines_that_cannot_be_written_together_are_all_counted() -> None:
    stream, turns = io.StringIO(), list[Callable[[], None]]()
    log = log_to(stream)
    log.write_together(turns.append)
    for _ in range(3):
        request(log)
    stream.close()
    turns.pop()()
    assert log.dropped == 3
