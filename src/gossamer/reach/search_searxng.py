"""SearXNG: a metasearch engine of one's own, by its JSON format."""

from typing import Any, Final

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach.endpoint import Endpoint
from gossamer.reach.search import SECONDS, decoded, hit, worded
from gossamer.web.fusion import Hit
from gossamer.web.question import Question

SERVICE: Final = "SearXNG"
FORBIDDEN: Final = 403
NAMED: Final = 5  # engines, of those that did not answer


class Result(msgspec.Struct, rename={"published": "publishedDate"}):
    url: str
    title: str | None = None
    content: str | None = None
    published: str | None = None


class Results(msgspec.Struct):
    results: list[Result]
    unresponsive_engines: list[list[Any]] = []


class SearXNG:
    def __init__(self, base_url: str, user_agent: str, *, seconds: float = SECONDS) -> None:
        self._endpoint = Endpoint(SERVICE, base_url, headers={"user-agent": user_agent}, seconds=seconds)

    async def search(self, question: Question) -> list[Hit]:
        asked = {"q": worded(question), "format": "json", "safesearch": "0"}
        if question.recency:
            asked["time_range"] = question.recency
        if question.language:
            asked["language"] = question.language
        answer = await self._endpoint.get("/search", asked)
        if answer.status == FORBIDDEN:
            raise Unavailable(SERVICE, "it answers with status 403; is its JSON format switched on?")
        found = decoded(SERVICE, answer, Results)
        if not found.results and found.unresponsive_engines:
            # Nothing from nobody: to call that "nothing found" would be wrong.
            engines = ", ".join(
                str(engine[0])[:40] for engine in found.unresponsive_engines[:NAMED] if engine
            )
            raise Unavailable(SERVICE, f"its engines do not answer: {engines}")
        return [hit(one.url, one.title, one.content, one.published) for one in found.results]

    async def close(self) -> None:
        await self._endpoint.close()
