"""Searching memory, on both databases: the same ranking as for pages, and never mixed with them."""

import io
import time

from msgspec.structs import replace
from tests.contract.memory.memory_ground import MemoryGround
from tests.servers.embeddings_api import MODEL, embeddings_api

from gossamer.flows.data.removal.memory_removal import MemoryRemoval, forgetting
from gossamer.flows.embeddings.embedding_indexer import EmbeddingIndexer
from gossamer.flows.embeddings.embedding_source import EmbeddingSource
from gossamer.flows.webhooks.webhook_keys import owner_of
from gossamer.observe.logs import Log
from gossamer.reach.services.embeddings import EmbeddingService
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_vectors import SearchVectors
from gossamer.web.search.question import Question

GUIDE = """Ropes for beginners.

# Silk

Silk is strong and light.

## Care

Wash silk ropes by hand, in cold water.

# Hemp

Hemp burns slowly.
"""


async def remember_shelf(ground: MemoryGround) -> None:
    now = int(time.time() * 1000)
    await ground.put("guide", GUIDE, format="markdown", title="Rope guide", tags=("ropes",), now=now)
    await ground.put("user/42", {"name": "Ada", "likes": ["silk", "climbing"]}, namespace="people", now=now)
    await ground.put("todo", "buy hemp and a climbing harness", format="text", tags=("errands",), now=now)


async def test_entries_are_found_by_their_values_keys_titles_and_tags(ground: MemoryGround) -> None:
    await remember_shelf(ground)
    assert await ground.found("climbing harness") == ["todo"]
    assert await ground.found("ada") == ["user/42"]
    assert await ground.found("todo") == ["todo"]
    assert await ground.found("errands") == ["todo"]
    assert (await ground.found("hemp rope"))[0] == "guide"
    assert set(await ground.found("silk")) == {"guide", "user/42"}


async def test_a_search_is_narrowed_to_namespaces_and_tags(ground: MemoryGround) -> None:
    await remember_shelf(ground)
    assert await ground.found("silk", "people") == ["user/42"]
    assert await ground.found("silk", "notes") == ["guide"]
    assert set(await ground.found("silk", "notes", "people")) == {"guide", "user/42"}
    assert await ground.found("silk", "none") == []
    assert await ground.found("hemp", tags=["errands"]) == ["todo"]
    assert await ground.found("hemp", tags=["errands", "ropes"]) == []


async def test_what_is_found_shows_its_best_passage_below_its_headings(ground: MemoryGround) -> None:
    await remember_shelf(ground)
    (best, *_) = (await ground.find("wash in cold water")).found
    passage = best.ranked.hit.passages[0]
    assert passage.headings == ("Silk", "Care")
    assert passage.snippet == "**Wash** silk ropes by hand, in **cold** **water**."
    assert (best.entry.namespace, best.entry.version, best.entry.tags) == ("notes", 1, ("ropes",))


async def test_words_that_are_missing_or_misspelt_are_told(ground: MemoryGround) -> None:
    await remember_shelf(ground)
    found = await ground.find("climbing shoes harness")
    assert found.found[0].ranked.hit.missing == ("shoes",)
    found = await ground.find("harnes")
    assert (dict(found.corrected), found.found[0].entry.key) == ({"harnes": "harness"}, "todo")


async def test_a_search_over_pages_finds_no_memory_nor_the_other_way_round(ground: MemoryGround) -> None:
    await remember_shelf(ground)
    page = IndexedDocument(
        url="https://example.com/silk",
        title="Silk",
        description="",
        text="A page about silk.",
        language="en",
        seen_at=time.time(),
    )
    ground.index.note(ground.ours.tenant_id, page)
    pages = (await ground.index.search(ground.ours.tenant_id, Question.parse("silk"))).found
    assert [match.url for match in pages] == ["https://example.com/silk"]
    assert set(await ground.found("silk")) == {"guide", "user/42"}
    assert await ground.found("silk page") == []


async def test_an_entry_is_found_by_what_it_says_now(ground: MemoryGround) -> None:
    await remember_shelf(ground)
    now = int(time.time() * 1000)
    await ground.put("todo", "buy nothing", format="text", now=now)
    assert await ground.found("harness") == []
    assert await ground.found("nothing") == ["todo"]
    await ground.memory.delete(ground.ours, [("notes", "todo")])
    assert await ground.found("nothing") == []


async def test_what_has_expired_is_not_found_and_takes_no_place(ground: MemoryGround) -> None:
    now = int(time.time() * 1000)
    for number in range(30):
        await ground.put(f"old{number}", "needle needle", ttl=1, now=now - 60_000)
    await ground.put("kept", "a long text that has the needle once", now=now)
    assert await ground.found("needle", limit=3) == ["kept"]


async def test_a_deleted_namespace_is_not_found_while_its_rows_are_removed(ground: MemoryGround) -> None:

    await remember_shelf(ground)
    async with ground.database.write() as connection:
        deletion = forgetting(owner_of(ground.ours), "notes")
        accepted = await MemoryRemoval(ground.database).accept(connection, deletion, None)
    assert accepted is not None
    assert await ground.found("hemp") == []
    await ground.put("todo", "hemp again", now=int(time.time() * 1000))  # in a new namespace of this name
    assert await ground.found("hemp") == ["todo"]
    assert (await ground.size())[0] == 2


async def test_entries_are_found_by_what_they_mean_and_by_their_words_together(
    ground: MemoryGround,
) -> None:
    now = int(time.time() * 1000)
    await ground.put("help", "the physician is in room nine", format="text", now=now)
    await ground.put("words", "doctors of words write dictionaries", format="text", now=now)
    await ground.put("lunch", "soup and bread", format="text", now=now)
    await ground.put("secret", "a physician of somebody else", format="text", by=ground.theirs, now=now)
    log = Log(io.StringIO())
    async with embeddings_api() as api:
        model = EmbeddingService(MODEL, base_url=api.base_url)
        vectors = SearchVectors(ground.database)
        indexer = EmbeddingIndexer("one", model, vectors, ground.database, log, lambda: float(now))
        while await indexer.embed_waiting():
            pass
        meaning = EmbeddingSource(model, vectors, 0.25, lambda: float(now))
        search = replace(ground.search, meaning=meaning)
        found = await search.find(ground.ours, Question.parse("doctors", limit=10), (), ())
        assert {one.entry.key for one in found.found} == {"help", "words"}
        narrowed = await search.find(ground.ours, Question.parse("doctors", limit=10), ("elsewhere",), ())
        assert narrowed.found == ()
        await model.close()
