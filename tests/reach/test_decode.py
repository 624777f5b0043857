"""Content codings: decoded in any pieces, bounded before and after."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from itertools import pairwise

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.site.bombs import bomb, zstd

from gossamer import problems
from gossamer.problems import Problem
from gossamer.reach.http.decode import Body, decoder_for
from gossamer.reach.http.failures import reason_of
from gossamer.web.documents.decoders import MAX_MEMBERS

LARGEST = 10_000_000


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(6, zlib.DEFLATED, -15)
    return stream.compress(data) + stream.flush()


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "gzip members": ("gzip", lambda data: gzip.compress(data[:3]) + gzip.compress(data[3:])),
    "gzip, then garbage": ("gzip", lambda data: gzip.compress(data) + b"\x1f\0\0\x8b"),
    "zlib": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "brotli": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "zstd frames": ("zstd", lambda data: zstd.compress(data[:3]) + zstd.compress(data[3:])),
    "identity": ("identity", bytes),
    "none": ("", bytes),
}


def decoded(coding: str, *pieces: bytes, max_bytes: int = LARGEST) -> bytes:
    body = Body(decoder_for(coding), max_bytes)
    for piece in pieces:
        body.feed(piece)
    return body.finish()


def refused(coding: str, *pieces: bytes, max_bytes: int = LARGEST) -> str:
    with pytest.raises(Problem) as caught:
        decoded(coding, *pieces, max_bytes=max_bytes)
    return reason_of(caught.value)


@pytest.mark.parametrize("name", ENCODERS)
@given(data=st.binary(max_size=2000), repeat=st.sampled_from([1, 1000]), cuts=st.lists(st.integers(0, 3000)))
def test_any_content_in_any_pieces(name: str, data: bytes, repeat: int, cuts: list[int]) -> None:
    coding, encode = ENCODERS[name]
    content = data * repeat
    sent = encode(content)
    edges = sorted({0, len(sent), *(cut for cut in cuts if cut < len(sent))})
    pieces = [sent[start:end] for start, end in pairwise(edges)]
    assert decoded(coding, *pieces) == content


@pytest.mark.parametrize("name", ENCODERS)
def test_byte_by_byte(name: str) -> None:
    coding, encode = ENCODERS[name]
    content = b"Gossamer is light. " * 50
    assert decoded(coding, *(bytes([byte]) for byte in encode(content))) == content


@pytest.mark.parametrize("name", ENCODERS)
def test_exactly_the_largest_is_allowed_and_one_more_is_not(name: str) -> None:
    coding, encode = ENCODERS[name]
    assert len(decoded(coding, encode(bytes(600_000)), max_bytes=600_000)) == 600_000
    assert refused(coding, encode(bytes(600_001)), max_bytes=600_000) == "too_large"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_what_is_cut_off_is_not_complete(coding: str) -> None:
    encode = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstd.compress}
    sent = encode[coding](b"Gossamer is light. " * 50)
    assert {refused(coding, sent[:length]) for length in range(1, len(sent))} == {"incomplete"}


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_what_is_not_in_its_coding(coding: str) -> None:
    assert refused(coding, b"<!doctype html><title>Not compressed at all</title>") == "bad_encoding"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_no_body_is_no_stream(coding: str) -> None:
    assert decoded(coding) == b""


@pytest.mark.parametrize(
    ("coding", "reason"),
    [
        ("gzip, gzip", "stacked_encoding"),
        ("br,gzip", "stacked_encoding"),
        ("compress", "unknown_encoding"),
        ("utf-8", "unknown_encoding"),
    ],
)
def test_codings_that_are_refused(coding: str, reason: str) -> None:
    assert refused(coding) == reason


def test_identity_is_no_coding_to_be_counted() -> None:
    assert decoded("identity, gzip", gzip.compress(b"x")) == b"x"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_costs_what_a_page_costs(coding: str) -> None:
    sent = bomb(coding)
    tracemalloc.start()
    try:
        with pytest.raises(Problem) as caught:
            decoded(coding, sent)
        assert tracemalloc.get_traced_memory()[1] < 32 * 1024 * 1024
    finally:
        tracemalloc.stop()
    assert caught.value.kind is problems.CONTENT_TOO_LARGE


@pytest.mark.parametrize(("coding", "compress"), [("gzip", gzip.compress), ("zstd", zstd.compress)])
def test_a_million_empty_members_are_refused_early(coding: str, compress: Callable[[bytes], bytes]) -> None:
    member = compress(b"")
    assert refused(coding, member * (MAX_MEMBERS + 1)) == "bad_encoding"
    assert decoded(coding, member * MAX_MEMBERS) == b""


def test_a_window_larger_than_the_standard_allows() -> None:
    stream = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    assert refused("zstd", stream.compress(b"x" * 1000) + stream.flush()) == "bad_encoding"
