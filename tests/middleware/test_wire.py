"""Gossamer's answer as it arrives, in whatever pieces."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.middleware.rules import RenderReply, SiteOptions, SiteVisit
from gossamer.middleware.wire import Broken, ReplyReader, render_request

SITE = SiteOptions(url="https://gossamer.example/base/", key="sk_live_test", origin="https://www.example.com")


def read(pieces: list[bytes], *, ends: bool = True) -> tuple[ReplyReader, bytes]:
    reading, body = ReplyReader(), b""
    for piece in pieces:
        if piece and not reading.done:
            reading.feed(piece)
            body += reading.take()
    if ends and not reading.done:
        reading.feed(b"")
        body += reading.take()
    return reading, body


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


LENGTH = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nhello world"
CHUNKED = (
    b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag:  "a" \r\n\r\n'
    b"5\r\nhello\r\n6;note=1\r\n world\r\n0\r\nTrailer: x\r\n\r\n"
)
UNTIL_CLOSED = b"HTTP/1.0 410 Gone\nX: y\n\nhello world"


@pytest.mark.parametrize("data", [LENGTH, CHUNKED, UNTIL_CLOSED])
@given(cuts=st.lists(st.integers(0, 1000), max_size=20))
def test_it_is_the_same_in_whatever_pieces_it_comes(data: bytes, cuts: list[int]) -> None:
    reading, body = read(pieces_of(data, cuts))
    assert reading.answer is not None
    assert reading.answer.status in (200, 410)
    assert (body, reading.done) == (b"hello world", True)


def test_headers_are_there_before_the_body() -> None:
    reading, body = read([CHUNKED[: CHUNKED.index(b"5\r\n")]], ends=False)
    assert reading.answer == RenderReply(200, (("transfer-encoding", "chunked"), ("etag", '"a"')))
    assert (body, reading.done) == (b"", False)


def test_not_modified_has_no_body() -> None:
    reading, body = read([b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"], ends=False)
    assert (body, reading.done) == (b"", True)


@pytest.mark.parametrize("data", [LENGTH, CHUNKED])
@given(end=st.integers(0, 1000))
def test_what_ends_too_early_is_broken(data: bytes, end: int) -> None:
    with pytest.raises(Broken):
        read([data[: end % len(data)]])


@given(data=st.binary(max_size=300))
def test_noise_is_broken_and_nothing_worse(data: bytes) -> None:
    for start in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        try:
            read([start + data])
        except Broken:
            continue


@pytest.mark.parametrize(
    "data",
    [b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200, b"x" * 40_000, b"HTTP/2 200\r\n\r\n",
     b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"],
)  # fmt: skip
def test_what_is_no_answer(data: bytes) -> None:
    with pytest.raises(Broken):
        read([data], ends=False)


def test_the_question() -> None:
    headers = {"if-none-match": '"a"\r\nEvil: yes', "accept-encoding": "br, gzip;q=0.5", "cookie": "secret"}
    asked = render_request(SITE, SiteVisit("GET", b'/\xc3\xa4?q="x"', headers))
    head, _, body = asked.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /base/api/render HTTP/1.1"
    assert {"Host: gossamer.example", "Accept-Encoding: gzip", f"Content-Length: {len(body)}"} <= set(lines)
    assert not [line for line in lines if line.startswith(("Evil", "Cookie"))]
    assert json.loads(body)["url"] == 'https://www.example.com/%C3%A4?q="x"'


@pytest.mark.parametrize("accepted", ["", "br", "gzip;q=0", "gzip; q=0.0", "identity"])
def test_plain_for_whoever_takes_no_gzip(accepted: str) -> None:
    asked = render_request(SITE, SiteVisit("GET", b"/", {"accept-encoding": accepted}))
    assert b"Accept-Encoding: identity\r\n" in asked
