"""Brave's search API."""

from typing import Final

import msgspec

from gossamer.reach.endpoint import Endpoint
from gossamer.reach.search import SECONDS, decoded, hit, worded
from gossamer.web.fusion import Hit
from gossamer.web.question import Question

SERVICE: Final = "Brave"
MOST: Final = 20  # results that it gives at a time
FRESHNESS: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
# It refuses other languages than these, and has names of its own for some.
LANGUAGES: Final = {
    **{code: code for code in (
        "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "et", "eu", "fi", "fr", "gl", "gu", "he",
        "hi", "hr", "hu", "is", "it", "kn", "ko", "lt", "lv", "ml", "mr", "ms", "nb", "nl", "pa", "pl", "ro",
        "ru", "sk", "sl", "sr", "sv", "ta", "te", "th", "tr", "uk", "vi",
    )},
    "ja": "jp", "no": "nb", "pt": "pt-pt", "zh": "zh-hans",
}  # fmt: skip


class Result(msgspec.Struct):
    url: str
    title: str | None = None
    description: str | None = None
    page_age: str | None = None


class Web(msgspec.Struct):
    results: list[Result] = []


class Results(msgspec.Struct):
    web: Web | None = None  # left out where nothing was found


class Brave:
    def __init__(self, key: str, base_url: str, user_agent: str, *, seconds: float = SECONDS) -> None:
        headers = {"user-agent": user_agent, "x-subscription-token": key}
        self._endpoint = Endpoint(SERVICE, base_url, headers=headers, seconds=seconds)

    async def search(self, question: Question) -> list[Hit]:
        asked = {"q": worded(question), "count": str(min(question.limit, MOST)), "text_decorations": "true"}
        if question.recency:
            asked["freshness"] = FRESHNESS[question.recency]
        if question.language in LANGUAGES:
            asked["search_lang"] = LANGUAGES[question.language]
        found = decoded(SERVICE, await self._endpoint.get("/res/v1/web/search", asked), Results)
        results = found.web.results if found.web else []
        return [hit(one.url, one.title, one.description, one.page_age) for one in results]

    async def close(self) -> None:
        await self._endpoint.close()
