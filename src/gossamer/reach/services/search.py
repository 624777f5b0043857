"""Search providers: SearXNG and Brave.

A provider raises only `Unavailable`: if it answers with an error, with a malformed document, or not at all.
"""

import html
import re
from typing import Any, Final, Protocol, TypeVar

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach.services.endpoint import ServiceEndpoint, ServiceReply
from gossamer.web.html.dates import unix_time
from gossamer.web.search.fusion import SearchHit
from gossamer.web.search.question import Question
from gossamer.web.search.snippet import MARK
from gossamer.web.search.words import clean

T = TypeVar("T")

SECONDS: Final = 8.0  # for one answer
MAX_TITLE_CHARS: Final = 300
MAX_SNIPPET_CHARS: Final = 500

SEARXNG: Final = "SearXNG"
_FORBIDDEN: Final = 403
_MAX_ENGINES_NAMED: Final = 5  # of those that did not answer
BRAVE: Final = "Brave"
MAX_BRAVE_RESULTS: Final = 20  # results that it gives at a time
_FRESHNESS: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
# It refuses all other languages, and has special names for some.
_LANGUAGES: Final = {
    **{code: code for code in (
        "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "et", "eu", "fi", "fr", "gl", "gu", "he",
        "hi", "hr", "hu", "is", "it", "kn", "ko", "lt", "lv", "ml", "mr", "ms", "nb", "nl", "pa", "pl", "ro",
        "ru", "sk", "sl", "sr", "sv", "ta", "te", "th", "tr", "uk", "vi",
    )},
    "ja": "jp", "no": "nb", "pt": "pt-pt", "zh": "zh-hans",
}  # fmt: skip

_FOUND: Final = re.compile(r"</?(?:strong|b|em|mark)>", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*+>|<!--(?:.*?-->|.*+)")


class Provider(Protocol):
    async def search(self, question: Question) -> list[SearchHit]: ...

    async def close(self) -> None: ...


class _SearXNGResult(msgspec.Struct, rename={"published": "publishedDate"}):
    url: str
    title: str | None = None
    content: str | None = None
    published: str | None = None


class _SearXNGResults(msgspec.Struct):
    results: list[_SearXNGResult]
    unresponsive_engines: list[list[Any]] = []


class SearXNG:
    """A self-hosted metasearch engine, by its JSON format."""

    def __init__(self, base_url: str, user_agent: str, *, seconds: float = SECONDS) -> None:
        self._endpoint = ServiceEndpoint(
            SEARXNG, base_url, headers={"user-agent": user_agent}, seconds=seconds
        )

    async def search(self, question: Question) -> list[SearchHit]:
        asked = {"q": _to_query(question), "format": "json", "safesearch": "0"}
        if question.recency:
            asked["time_range"] = question.recency
        if question.language:
            asked["language"] = question.language
        answer = await self._endpoint.get("/search", asked)
        if answer.status == _FORBIDDEN:
            raise Unavailable(SEARXNG, "it answers with status 403; is its JSON format switched on?")
        found = _decode(SEARXNG, answer, _SearXNGResults)
        if not found.results and found.unresponsive_engines:
            # No engine answered, which is not the same as "nothing found".
            engines = ", ".join(
                str(engine[0])[:40] for engine in found.unresponsive_engines[:_MAX_ENGINES_NAMED] if engine
            )
            raise Unavailable(SEARXNG, f"its engines do not answer: {engines}")
        return [_hit(one.url, one.title, one.content, one.published) for one in found.results]

    async def close(self) -> None:
        await self._endpoint.close()


class _BraveResult(msgspec.Struct):
    url: str
    title: str | None = None
    description: str | None = None
    page_age: str | None = None


class _BraveWeb(msgspec.Struct):
    results: list[_BraveResult] = []


class _BraveResults(msgspec.Struct):
    web: _BraveWeb | None = None  # left out where nothing was found


class Brave:
    """Brave's search API."""

    def __init__(self, key: str, base_url: str, user_agent: str, *, seconds: float = SECONDS) -> None:
        headers = {"user-agent": user_agent, "x-subscription-token": key}
        self._endpoint = ServiceEndpoint(BRAVE, base_url, headers=headers, seconds=seconds)

    async def search(self, question: Question) -> list[SearchHit]:
        asked = {
            "q": _to_query(question),
            "count": str(min(question.limit, MAX_BRAVE_RESULTS)),
            "text_decorations": "true",
        }
        if question.recency:
            asked["freshness"] = _FRESHNESS[question.recency]
        if question.language in _LANGUAGES:
            asked["search_lang"] = _LANGUAGES[question.language]
        found = _decode(BRAVE, await self._endpoint.get("/res/v1/web/search", asked), _BraveResults)
        results = found.web.results if found.web else []
        return [_hit(one.url, one.title, one.description, one.page_age) for one in results]

    async def close(self) -> None:
        await self._endpoint.close()


def _decode(service: str, answer: ServiceReply, shape: type[T]) -> T:
    if answer.status != 200:
        raise Unavailable(service, f"it answers with status {answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unavailable(service, "its answer is not what was expected") from None


def _to_query(question: Question) -> str:
    """The question in the syntax of search engines."""
    return f"{question.text} site:{question.site}".strip() if question.site else question.text


def _hit(url: str, title: str | None, snippet: str | None, published: str | None) -> SearchHit:
    return SearchHit(
        url=url,
        title=_plain(title or "", MAX_TITLE_CHARS).replace(MARK, ""),
        snippet=_plain(snippet or "", MAX_SNIPPET_CHARS),
        published_at=unix_time(published or ""),
    )


def _plain(text: str, max_chars: int) -> str:
    """The text without markup. Emphasis becomes double asterisks, as in our own snippets."""
    marked = _FOUND.sub(MARK, text[: 10 * max_chars].replace(MARK, ""))
    return clean(html.unescape(_TAG.sub("", marked)), max_chars)
