"""`format=llm`: a page for a language model, on every endpoint that answers with content."""

import re
from typing import Any

import pytest
from tests.doors.fetches import Fetching, fetching, say
from tests.doors.http.api.pages.test_fetch import ARTICLE
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import APP
from tests.doors.services import AS_ADMIN

__all__ = ["fetching"]

LONG = "<!doctype html><title>Webs</title><h1>Webs</h1>" + "".join(
    f"<h2>Part {number}</h2><p>{'Orb weavers build a new web nearly every day. ' * 12}</p>"
    for number in range(40)
)
ENVELOPE = re.compile(r"[^\n]*untrusted[^\n]*\n<<<([a-z]{20})\n(.*)\n\1>>>(?:\n[^\n]*)?", re.DOTALL)


def unwrapped(content: str) -> tuple[str, str]:
    found = ENVELOPE.fullmatch(content)
    assert found, content
    return found[1], found[2]


@pytest.mark.parametrize("path", ["/fetch", "/fetch/basic", "/fetch/pro"])
async def test_content_is_for_a_language_model(fetching: Fetching, path: str) -> None:
    answer = await fetching.answer(say(ARTICLE), path=f"{path}?format=llm")
    _, text = unwrapped(answer["content"])
    assert text.startswith("# Orb webs\n\nOrb weavers build")
    spiral = fetching.site.url("/said/spiral.html")
    assert "The [capture spiral][1] is sticky" in text
    assert text.endswith(f"\n\n[1]: {spiral}")
    assert answer["untrusted"] is True
    assert 80 < answer["llm"].pop("tokens") < 300
    assert answer["llm"] == {"counted": "estimate", "truncated": False}
    assert answer["metadata"]["author"] == "A. Diadema"


async def test_what_content_is(fetching: Fetching) -> None:
    target = say(ARTICLE)
    alone = await fetching.answer(target, formats=["llm"])
    assert unwrapped(alone["content"])
    both = await fetching.answer(target, formats=["markdown", "llm"])
    assert both["content"].startswith("# Orb webs")
    assert unwrapped(both["llm"]["content"])[1] == unwrapped(alone["content"])[1]
    plain = await fetching.answer(target, path="/fetch?format=markdown", formats=["llm", "text"])
    assert plain["content"] == both["content"]
    assert ("llm" in plain, "untrusted" in plain, "text" in plain) == (False, False, True)


async def test_it_is_cut_at_headings_and_says_what_is_missing(fetching: Fetching) -> None:
    answer = await fetching.answer(say(LONG), formats=["llm"], maxTokens=1_000)
    llm = answer["llm"]
    assert llm["tokens"] <= 1_000
    assert llm["truncated"] is True
    kept = re.findall(r"(?m)^## Part (\d+)$", answer["content"])
    assert kept == [str(number) for number in range(len(kept))]
    assert len(kept) > 3
    first = llm["leftOut"][0]
    assert (first["heading"], first["level"]) == (f"Part {len(kept) - (answer['content'].count('[…]'))}", 2)
    assert llm["leftOut"][-1]["heading"] == "Part 39"
    assert all(one["tokens"] > 0 for one in llm["leftOut"])
    whole = await fetching.answer(say(LONG), formats=["llm"], maxTokens=200_000)
    assert whole["llm"]["truncated"] is False


async def test_the_boundary_is_another_in_every_answer_also_from_the_cache(fetching: Fetching) -> None:
    target = say(ARTICLE)
    answers = [
        await fetching.post(target, path="/fetch?format=llm", cache=True, maxTokens=500) for _ in range(3)
    ]
    assert [one.headers["x-cache-status"] for one in answers] == ["MISS", "HIT", "HIT"]
    found = [unwrapped(one.json()["content"]) for one in answers]
    assert len({boundary for boundary, _ in found}) == 3
    assert len({text for _, text in found}) == 1
    other = await fetching.post(target, path="/fetch?format=llm", cache=True, maxTokens=501)
    assert other.headers["x-cache-status"] == "MISS"


async def test_a_query_chooses_the_parts_and_has_answers_of_its_own_in_the_cache(fetching: Fetching) -> None:
    target = say(LONG)
    asked: dict[str, Any] = {"formats": ["llm"], "maxTokens": 500, "cache": True}
    plain = await fetching.post(target, **asked)
    about = await fetching.post(target, **asked, query="part 31")
    assert "## Part 31\n\nOrb weavers" in about.json()["content"]
    assert "Part 31" not in plain.json()["content"]
    assert about.json()["content"].index("# Webs") < about.json()["content"].index("## Part 31")
    assert "Part 31" not in [one["heading"] for one in about.json()["llm"]["leftOut"]]
    again = [await fetching.post(target, **asked, query=query) for query in (" part  31", "part 30", "")]
    statuses = [one.headers["x-cache-status"] for one in (plain, about, *again)]
    assert statuses == ["MISS", "MISS", "HIT", "MISS", "HIT"]
    # Where no text for a language model is asked for, the query changes nothing.
    keys = [await fetching.answer(target, cache=True, **more) for more in ({}, {"query": "part 31"})]
    assert keys[0]["cache"]["key"] == keys[1]["cache"]["key"]


async def test_a_query_in_an_address(fetching: Fetching) -> None:
    url = fetching.site.url(say(LONG))
    asked: dict[str, Any] = {"maxTokens": 500, "query": "part 31"}
    got = await fetching.visit.client.get(
        "/fetch", params={"url": url, "format": "llm", **asked}, headers=AS_ADMIN
    )
    assert "## Part 31\n\nOrb weavers" in got.json()["content"]


async def test_the_bare_text_for_who_accepts_markdown(fetching: Fetching) -> None:
    target, sent = say(ARTICLE), {**AS_ADMIN, "Accept": "text/markdown"}
    bare = await fetching.post(target, path="/fetch?format=llm", sent=sent)
    assert bare.headers["content-type"] == "text/markdown; charset=utf-8"
    assert (bare.headers["x-outcome"], bare.headers["x-page-status"]) == ("ok", "200")
    assert unwrapped(bare.text)[1].startswith("# Orb webs")
    plain = await fetching.post(target, sent=sent, formats=["links"])
    assert plain.text == (await fetching.answer(target))["content"]
    either = await fetching.post(target, sent={**AS_ADMIN, "Accept": "text/markdown, application/json"})
    assert either.headers["content-type"] == "application/json"
    assert_problem(await fetching.post("http://localhost/", sent=sent), "INVALID_URL")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/fetch?format=html", {}),
        ("/fetch", {"maxTokens": 99}),
        ("/fetch", {"maxTokens": 200_001}),
        ("/fetch", {"query": "w" * 401}),
        ("/fetch/pro", {"maxTokens": "many"}),
    ],
    ids=str,
)
async def test_what_is_refused(fetching: Fetching, path: str, body: dict[str, Any]) -> None:
    assert_problem(await fetching.post(path=path, **body), "VALIDATION_ERROR")


async def test_a_page_that_hides_itself_is_shown_by_a_browser_only(fetching: Fetching) -> None:
    """What is hidden may be meant for machines alone; who reads for one sees what a person would."""
    words = "Orb weavers build a new web nearly every day. " * 60
    veiled = say(
        '<!doctype html><title>Webs</title><div id="all" style="display:none">'
        f"<h1>Webs</h1><p>{words}</p></div>"
        '<script>document.getElementById("all").style.display = ""</script>'
    )
    assert "Orb weavers" in (await fetching.answer(veiled))["content"]
    plain = await fetching.answer(veiled, formats=["llm"])
    assert "Orb weavers" not in plain["content"]
    shown = await fetching.answer(veiled, formats=["llm"], render="auto")
    assert (shown["tier"], shown["outcome"]) == ("pro", "ok")
    assert "Orb weavers" in shown["content"]


async def test_other_documents_are_for_a_language_model_too(fetching: Fetching) -> None:
    data = say('{"silk": [' + ", ".join(map(str, range(3_000))) + "]}", "Content-Type: application/json")
    answer = await fetching.answer(data, formats=["llm"], maxTokens=400)
    assert (answer["llm"]["tokens"] <= 400, answer["llm"]["truncated"]) == (True, True)
    lines = unwrapped(answer["content"])[1].split("\n")
    assert lines[0] == "```json"
    assert lines.index("```") > 10
    shell = await fetching.answer(say(APP), formats=["llm"], path="/fetch/pro")
    assert unwrapped(shell["content"])[1].startswith("# Rendered by a script")
