"""Calls are repeated when that is safe and may help, within bounds."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from gossamer import Client, ConnectionFailed, GossamerError, RateLimited
from gossamer.client.retrying import IDEMPOTENCY_KEY, Patience, Retrying
from gossamer.client.transport import Call, Reply, StreamedReply

BUSY = Reply(503, {"retry-after": "7"}, b'{"code":"SERVER_BUSY","detail":"Busy","retryAfter":7}')
LIMITED = Reply(429, {"retry-after": "3"}, b'{"code":"RATE_LIMITED","detail":"Too many"}')
FULL = Reply(429, {}, b'{"code":"QUOTA_EXCEEDED","detail":"Enough"}')
PROXY = Reply(502, {}, b"<h1>Bad Gateway</h1>")
TARGET = Reply(502, {}, b'{"code":"FETCH_FAILED","detail":"Connection refused"}')
DEFECT = Reply(500, {}, b'{"code":"INTERNAL_ERROR","detail":"A defect"}')
GONE = ConnectionFailed("nobody answers")
SILENT = Reply(0, {}, b"")
FOUND = Reply(200, {}, b'{"crawls":[],"nextCursor":null}')


async def _nothing() -> AsyncIterator[bytes]:
    empty: tuple[bytes, ...] = ()
    for piece in empty:
        yield piece


class Script:
    """A server that answers as it is told, and its clock."""

    def __init__(self, *answers: Reply | ConnectionFailed) -> None:
        self._answers = list(answers)
        self.calls: list[Call] = []
        self.pauses: list[float] = []
        self.now = 0.0

    async def send(self, call: Call) -> Reply:
        self.calls.append(call)
        answer = self._answers.pop(0)
        if answer is SILENT:
            await asyncio.Event().wait()
        if isinstance(answer, Reply):
            return answer
        raise answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamedReply]:
        yield StreamedReply(200, {}, _nothing())

    async def close(self) -> None: ...

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def client(self, attempts: int = 4, seconds: float = 60.0) -> Client:
        patience = Patience(attempts, seconds, lambda: self.now, self.sleep, lambda: 1.0)
        return Client(Retrying(self, patience), patience)


@pytest.mark.parametrize(
    ("answers", "pauses"),
    [
        ([GONE, GONE, FOUND], [0.5, 1.0]),
        ([PROXY, FOUND], [0.5]),
        ([BUSY, FOUND], [7.1]),  # what the server asks for, and a little, so that not all come back at once
        ([LIMITED, LIMITED, FOUND], [3.1, 3.2]),
    ],
)
async def test_what_may_pass_is_tried_again_after_a_pause(
    answers: Sequence[Reply | ConnectionFailed], pauses: list[float]
) -> None:
    script = Script(*answers)
    assert await script.client().crawls() == []
    assert script.pauses == pytest.approx(pauses)


@pytest.mark.parametrize("answer", [FULL, TARGET, DEFECT])
async def test_what_would_not_change_is_not_tried_again(answer: Reply) -> None:
    script = Script(answer)
    with pytest.raises(GossamerError) as caught:
        await script.client().fetch("https://example.com/")
    assert caught.value.code == msgspec.json.decode(answer.body)["code"]
    assert len(script.calls) == 1


async def test_a_post_is_repeated_under_one_key_and_the_next_has_another() -> None:
    script = Script(GONE, BUSY, DEFECT, DEFECT)
    for _ in range(2):
        with pytest.raises(GossamerError):
            await script.client().fetch("https://example.com/")
    first, second, third, fourth = (call.headers[IDEMPOTENCY_KEY] for call in script.calls)
    assert first == second == third != fourth
    assert len(first) >= 16


async def test_what_has_no_key_and_is_no_get_is_sent_once() -> None:
    script = Script(GONE)
    with pytest.raises(ConnectionFailed):
        await script.client().crawl_with_id("01").delete()
    assert len(script.calls) == 1


async def test_attempts_are_bounded() -> None:
    script = Script(*[GONE] * 9)
    with pytest.raises(ConnectionFailed):
        await script.client(attempts=3).crawls()
    assert len(script.calls) == 3


async def test_a_pause_beyond_the_deadline_is_not_waited_for() -> None:
    script = Script(LIMITED, FOUND)
    with pytest.raises(RateLimited) as caught:
        await script.client(seconds=2).crawls()
    assert caught.value.retry_after == 3
    assert script.pauses == []


async def test_no_answer_in_time_is_a_failed_connection() -> None:
    script = Script(SILENT)
    with pytest.raises(ConnectionFailed, match=r"GET /api/crawls had no answer within 0.01 seconds"):
        await script.client(seconds=0.01).crawls()


async def test_an_answer_of_something_else_is_told_as_such() -> None:
    with pytest.raises(GossamerError, match="UNREADABLE_ANSWER") as caught:
        await Script(Reply(200, {}, b"<title>Hello</title>")).client().crawls()
    assert "address" in (caught.value.hint or "")
