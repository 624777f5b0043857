"""Search elsewhere: what every provider is asked, and what its answers have in common.

A provider that answers with an error, with nonsense or not at all raises `Unavailable`, and nothing else.
"""

import html
import re
from typing import Final, Protocol, TypeVar

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach.endpoint import Answer
from gossamer.web.dates import unix_time
from gossamer.web.fusion import Hit
from gossamer.web.question import Question
from gossamer.web.snippet import MARK
from gossamer.web.words import clean

T = TypeVar("T")

SECONDS: Final = 8.0  # for one answer
LONGEST_TITLE: Final = 300
LONGEST_SNIPPET: Final = 500

_FOUND: Final = re.compile(r"</?(?:strong|b|em|mark)>", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*+>|<!--(?:.*?-->|.*+)")


class Provider(Protocol):
    async def search(self, question: Question) -> list[Hit]: ...

    async def close(self) -> None: ...


def decoded(service: str, answer: Answer, shape: type[T]) -> T:
    if answer.status != 200:
        raise Unavailable(service, f"it answers with status {answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unavailable(service, "its answer is not what was expected") from None


def worded(question: Question) -> str:
    """The question as search engines know it."""
    return f"{question.text} site:{question.site}".strip() if question.site else question.text


def hit(url: str, title: str | None, snippet: str | None, published: str | None) -> Hit:
    return Hit(
        url=url,
        title=_plain(title or "", LONGEST_TITLE).replace(MARK, ""),
        snippet=_plain(snippet or "", LONGEST_SNIPPET),
        published_at=unix_time(published or ""),
    )


def _plain(text: str, longest: int) -> str:
    """Without markup; what it emphasises is between double asterisks, as in our own snippets."""
    marked = _FOUND.sub(MARK, text[: 10 * longest].replace(MARK, ""))
    return clean(html.unescape(_TAG.sub("", marked)), longest)
