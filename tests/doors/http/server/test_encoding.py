"""A long answer is encoded by pieces: the same JSON, never more of it than allowed."""

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from gossamer.doors.http.core.exchange import answer_by_pieces
from gossamer.flows.pages.encoding import PIECE, encode_by_pieces
from gossamer.problems import CONTENT_TOO_LARGE, Problem


class Shown(msgspec.Struct, rename="camel"):
    title: str
    raw_html: str | UnsetType = UNSET
    text: str | None = None
    number: int = 7


@pytest.mark.parametrize("piece", ["a", '"', "\\", "\n", "\x01", "é", "世界", "\U0001f578", '🕸"\\'])
@pytest.mark.parametrize("length", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
async def test_it_is_the_same_as_in_one_go(piece: str, length: int) -> None:
    shown = Shown("short", (piece * length)[:length], text=(piece * (length + 1))[1 : length + 1])
    assert await encode_by_pieces(shown, 10 * 6 * PIECE) == msgspec.json.encode(shown)
    assert isinstance(shown.raw_html, str)  # which is left as it was


async def test_nothing_longer_than_allowed_is_made() -> None:
    for text in ("a" * 3 * PIECE, '"' * 2 * PIECE, "世" * PIECE):
        with pytest.raises(Problem) as caught:
            await encode_by_pieces(Shown("", text, "a" * 2 * PIECE), 4 * PIECE)
        assert caught.value.kind is CONTENT_TOO_LARGE
        assert caught.value.members["details"] == {"reason": "answer_too_large", "maxBytes": 4 * PIECE}


async def test_an_answer_says_what_it_is() -> None:
    response = await answer_by_pieces(Shown("x"), {"X-Cache-Status": "MISS"})
    assert response.body == b'{"title":"x","text":null,"number":7}'
    assert (response.headers["content-type"], response.headers["x-cache-status"]) == (
        "application/json",
        "MISS",
    )
