"""`POST /search` with an embedding model: meaning finds what words do not; without one, nothing changes."""

from typing import Any

from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.flows.test_doctor import BETTER, NO_BROWSER, OK, examine
from tests.servers.embeddings_api import MODEL, EmbeddingsApi, embeddings_api

from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.tenants.tenants import PUBLIC

KEY = "sk-embeddings"
HEALTH = IndexedDocument(
    url="https://example.com/health",
    title="Medicine",
    description="",
    text="Physicians examine patients.",
    language="en",
    seen_at=0.0,
)


def chosen(api: EmbeddingsApi) -> dict[str, Any]:
    return {"embeddings_model": MODEL, "embeddings_base_url": api.base_url, "embeddings_api_key": KEY}


async def search(visit: Visit, query: str) -> dict[str, Any]:
    response = await visit.client.post("/search", json={"query": query}, headers=AS_ADMIN)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_without_a_model_a_question_without_a_common_word_finds_nothing(visiting: Visiting) -> None:
    async with visiting() as visit:
        assert visit.service.embeddings is None
        visit.service.index.note(PUBLIC, HEALTH)
        answer = await search(visit, "doctors")
    assert answer["results"] == []
    assert set(answer["providers"]) == {"index"}


async def test_with_a_model_it_finds_its_page_and_without_its_answer_words_do(visiting: Visiting) -> None:
    async with embeddings_api(key=KEY) as api, visiting(**chosen(api), **NO_BROWSER) as visit:
        service = visit.service
        assert service.embeddings is not None
        service.index.note(PUBLIC, HEALTH)
        await service.index.flush()
        await service.embeddings.indexer.embed_waiting()
        answer = await search(visit, "doctors")
        (result,) = answer["results"]
        assert (result["url"], result["source"]) == (HEALTH.url, "index")
        assert result["snippet"] == "Physicians examine patients."
        assert {name: one["status"] for name, one in answer["providers"].items()} == {
            "index": "ok",
            "embeddings": "ok",
        }
        (result,) = (await search(visit, "physicians"))["results"]
        assert (result["score"], result["source"]) == (1, "index")
        diagnosis = (await examine(visit))["embeddings"]
        assert (diagnosis.condition, "1 of 1 pages" in diagnosis.finding) == (OK, True)

        api.status = 503
        answer = await search(visit, "patients")
        assert [result["url"] for result in answer["results"]] == [HEALTH.url]
        assert answer["providers"]["embeddings"]["status"] == "failed"
        assert "status 503" in answer["providers"]["embeddings"]["reason"]
        assert (await search(visit, "nurses"))["results"] == []  # words have answered, and that counts
        assert (await examine(visit))["embeddings"].condition == BETTER
