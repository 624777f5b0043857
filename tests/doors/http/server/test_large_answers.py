"""An answer has at most 10 MB; what would be larger is refused, never cut."""

import pytest
from tests.doors.fetches import Fetching, fetching, say
from tests.doors.http.api.audit.test_audits import over
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import at_work
from tests.doors.services import AS_ADMIN

from gossamer.flows.pages.encoding import MAX_ANSWER_BYTES, bounded
from gossamer.problems import Problem

__all__ = ["fetching"]

PLAIN = "Content-Type: text/plain"
LINE = "Orb weavers build a new web nearly every day, mostly at night, and eat the old one first.\n"
LARGE = say(LINE * (6_000_000 // len(LINE)), PLAIN)
TOO_LARGE = say('"' * 6_000_000, PLAIN)  # each of which JSON writes as two characters


def test_ten_million_bytes_are_an_answer_and_one_more_is_none() -> None:
    assert bounded(b"x" * MAX_ANSWER_BYTES)
    with pytest.raises(Problem) as caught:
        bounded(b"x" * (MAX_ANSWER_BYTES + 1))
    assert caught.value.kind.code == "CONTENT_TOO_LARGE"


async def test_what_is_too_large_is_refused_with_what_to_do(fetching: Fetching) -> None:
    refused = await fetching.post(TOO_LARGE, formats=["rawHtml"])
    document = assert_problem(refused, "CONTENT_TOO_LARGE")
    assert refused.status_code == 502
    assert refused.json()["details"] == {"reason": "answer_too_large", "maxBytes": MAX_ANSWER_BYTES}
    assert "maxTokens" in str(document["hint"])
    assert (await fetching.post(TOO_LARGE, formats=["metadata"])).status_code == 200
    whole = await fetching.answer(LARGE, formats=["rawHtml"])
    assert whole["rawHtml"].count("Orb weavers") == 6_000_000 // len(LINE)


async def test_in_a_batch_it_is_one_result_that_fails_and_the_others_come_in_stretches(
    fetching: Fetching,
) -> None:
    client = fetching.visit.client
    urls = [fetching.site.url(target) for target in (TOO_LARGE, LARGE, LARGE)]
    async with at_work(fetching.visit):
        body = {"urls": urls, "formats": ["rawHtml"], "timeout": 30_000}
        accepted = (await client.post("/batch/fetch", json=body, headers=AS_ADMIN)).json()
        await over(fetching.visit, accepted["jobId"])
    pages, cursor = [], "0"
    while cursor != "None":
        response = await client.get(f"{accepted['resultsUrl']}?cursor={cursor}", headers=AS_ADMIN)
        assert len(response.content) <= MAX_ANSWER_BYTES
        pages.append(response.json())
        cursor = str(pages[-1]["nextCursor"])
    assert [[result["index"] for result in page["results"]] for page in pages] == [[0, 1], [2]]
    assert [page["pending"] for page in pages] == [0, 0]
    refused, *others = [result for page in pages for result in page["results"]]
    assert (refused["problem"]["code"], refused["problem"]["reason"]) == (
        "CONTENT_TOO_LARGE",
        "answer_too_large",
    )
    assert all(len(result["result"]["rawHtml"]) > 5_900_000 for result in others)
