"""The contract of `Blobs`, held by both implementations. S3 here is a real server."""

import asyncio
import gzip
import itertools
import os
import random
import string
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.servers.s3 import BUCKET, Moto

from gossamer.problems import Unavailable
from gossamer.state.blobs.blobs import CHUNK, Blobs, Missing, open_blobs

numbers = itertools.count()
names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,30}(/[a-z0-9][a-z0-9._-]{0,30}){0,4}", fullmatch=True)
property_test = settings(max_examples=50)
OpenBlobs = Callable[[], Blobs]


@pytest.fixture(params=["folder", "s3"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenBlobs]:
    """Opens the same store any number of times, as so many processes do."""
    made: list[Blobs] = []
    url, environ = f"file://{tmp_path}/blobs", {}
    if request.param == "s3":
        moto: Moto = request.getfixturevalue("moto")
        url, environ = moto.url_of(BUCKET, f"contract{next(numbers)}"), dict(moto.environ)

    def open_one() -> Blobs:
        made.append(open_blobs(url, environ))
        return made[-1]

    yield open_one
    for blobs in made:
        await blobs.close()


@pytest.fixture
def blobs(opened: OpenBlobs) -> Blobs:
    return opened()


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


async def streamed(blobs: Blobs, name: str) -> bytes:
    return b"".join([chunk async for chunk in blobs.stream(name)])


async def test_what_was_never_put_is_missing(blobs: Blobs) -> None:
    assert await blobs.get("pages/a") is None
    with pytest.raises(Missing):
        await anext(blobs.stream("pages/a"))
    await blobs.drop(["pages/a"])
    await blobs.drop([])


async def test_objects_are_listed_by_what_their_names_begin_with(blobs: Blobs) -> None:
    assert [each async for each in blobs.listing("pages")] == []
    for name in ("pages/a", "pages/b/c", "pagesb/d", "others/e"):
        await blobs.put(name, name.encode())
    assert {each async for each in blobs.listing("pages")} == {("pages/a", 7), ("pages/b/c", 9)}
    assert {each async for each in blobs.listing("pages/b")} == {("pages/b/c", 9)}


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 6_000_000])
async def test_what_was_put_comes_back(opened: OpenBlobs, size: int) -> None:
    body = noise(size)
    await opened().put("pages/a", body)
    assert await opened().get("pages/a") == body
    assert await streamed(opened(), "pages/a") == body


async def test_a_large_object_comes_in_chunks(blobs: Blobs) -> None:
    await blobs.put("pages/a", noise(6_000_000))
    sizes = [len(chunk) async for chunk in blobs.stream("pages/a")]
    assert len(sizes) > 4
    assert 0 < max(sizes) < 8 * CHUNK


async def test_the_same_name_again_replaces(blobs: Blobs) -> None:
    for body in (b"a longer first body", b"second", b""):
        await blobs.put("pages/a", body)
        assert await blobs.get("pages/a") == body


async def test_compressed_bytes_come_back_as_they_were_put(blobs: Blobs) -> None:
    body = gzip.compress(b"<p>" * 10_000, mtime=0)
    await blobs.put("pages/a", body, media_type="text/html; charset=utf-8", coding="gzip")
    assert await blobs.get("pages/a") == body
    assert await streamed(blobs, "pages/a") == body


async def test_dropped_is_gone_and_the_others_stay(blobs: Blobs) -> None:
    kept = [f"pages/{letter}" for letter in string.ascii_lowercase]
    await asyncio.gather(*(blobs.put(name, name.encode()) for name in kept))
    await blobs.drop([*kept[:20], "pages/nothing", kept[0]])
    found = await asyncio.gather(*(blobs.get(name) for name in kept))
    assert found == [None] * 20 + [name.encode() for name in kept[20:]]
    await blobs.put(kept[0], b"again")
    assert await blobs.get(kept[0]) == b"again"


async def test_a_name_may_begin_with_another(blobs: Blobs) -> None:
    family = ["a", "a/b", "a/b/c", "a.b", "a-b", "ab"]
    for name in family:
        await blobs.put(name, name.encode())
    assert [await blobs.get(name) for name in family] == [name.encode() for name in family]
    await blobs.drop(["a/b"])
    assert [name for name in family if await blobs.get(name) is None] == ["a/b"]


@property_test
@given(name=names, body=st.binary(max_size=100))
async def test_every_name_is_a_name_of_its_own(blobs: Blobs, name: str, body: bytes) -> None:
    await blobs.put(name, body)
    assert await blobs.get(name) == body
    await blobs.drop([name])
    assert await blobs.get(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "/", "/etc/passwd", "..", "../a", "a/../b", "a/..", "a//b", "a/", "./a", ".incoming/a", "a/.b", "A",
     "a\\b", "a\0", "a\n", "a b", "a~b", "ä", "%2e%2e/a", "c:a", "a" * 201],
)  # fmt: skip
async def test_what_is_not_a_name_reaches_nothing(blobs: Blobs, name: str) -> None:
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: blobs.put(name, b"x"),
        lambda: blobs.get(name),
        lambda: anext(blobs.stream(name)),
        lambda: blobs.drop([name]),
    ]
    for attempt in attempts:
        with pytest.raises(ValueError, match="cannot name a blob"):
            await attempt()


async def test_readers_see_one_body_or_the_other_while_it_is_replaced(opened: OpenBlobs) -> None:
    bodies = {bytes([letter]) * 200_000 for letter in b"abcdefgh"}
    writer, reader = opened(), opened()
    await writer.put("pages/a", min(bodies))
    writing = [asyncio.create_task(writer.put("pages/a", body)) for body in sorted(bodies)]
    while not all(task.done() for task in writing):
        assert await reader.get("pages/a") in bodies
        assert await streamed(reader, "pages/a") in bodies
    await asyncio.gather(*writing)


async def test_a_stream_that_has_begun_is_whole_although_the_object_goes(blobs: Blobs) -> None:
    body = noise(6_000_000)
    await blobs.put("pages/a", body)
    stream = blobs.stream("pages/a")
    read = await anext(stream)
    await blobs.drop(["pages/a"])
    assert await blobs.get("pages/a") is None
    assert read + b"".join([chunk async for chunk in stream]) == body


async def test_a_stream_that_is_left_early_holds_nothing_open(blobs: Blobs) -> None:
    await blobs.put("pages/a", noise(6_000_000))
    for _ in range(3):
        async with aclosing(blobs.stream("pages/a")) as stream:
            await anext(stream)
    async with asyncio.timeout(60):
        while any("pages~a" in file.path for file in psutil.Process().open_files()):
            await asyncio.sleep(0.01)


async def test_whoever_is_cancelled_leaves_the_store_as_good_as_before(blobs: Blobs) -> None:
    body = noise(2_000_000)
    for _ in range(10):
        tasks = [asyncio.create_task(blobs.put("pages/a", body)), asyncio.create_task(blobs.get("pages/a"))]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert await blobs.get("pages/a") in (None, body)
    await blobs.put("pages/b", b"b")
    assert await blobs.get("pages/b") == b"b"


async def test_many_at_once(blobs: Blobs) -> None:
    await asyncio.gather(*(blobs.put(f"pages/{number}", b"%d" % number) for number in range(100)))
    found = await asyncio.gather(*(blobs.get(f"pages/{number}") for number in range(100)))
    assert found == [b"%d" % number for number in range(100)]


async def test_ping_when_all_is_well(blobs: Blobs) -> None:
    await blobs.ping()


async def test_closed_is_away(blobs: Blobs) -> None:
    await blobs.put("pages/a", b"a")
    await blobs.close()
    await blobs.close()
    with pytest.raises(Unavailable, match="closed"):
        await blobs.get("pages/a")


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "blobs", "file://relative/path", "file:///", "s3://", "s3://b?endpoint=ftp://x", "s3://b?colour=red",
     "s3://key:secret@bucket", "s3://b/../c", "s3://b?endpoint=http://user:secret@host"],
)  # fmt: skip
def test_an_address_that_cannot_be_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        open_blobs(url, {})
    assert "secret" not in str(refused.value)


def test_nothing_is_made_by_opening(tmp_path: Path) -> None:
    open_blobs(f"file://{tmp_path}/blobs", {})
    assert os.listdir(tmp_path) == []


async def test_a_part_of_an_object(blobs: Blobs) -> None:
    await blobs.put("crawls/part", b"0123456789")
    assert await blobs.get_part("crawls/part", 2, 3) == b"234"
    assert await blobs.get_part("crawls/part", 8, 2) == b"89"
    assert await blobs.get_part("crawls/part", 4, 0) == b""
    assert await blobs.get_part("crawls/none", 0, 1) is None
