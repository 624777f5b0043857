"""The pages of batches: started by a form, followed, read and downloaded."""

import json
from collections.abc import AsyncIterator

import pytest
from tests.doors.fetches import say
from tests.doors.http.api.audit.test_audits import OPEN, over, working
from tests.doors.http.dashboard.records.test_jobs import HOSTILE
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit, Visiting
from tests.site.server import Site

PROSE = "Orb weavers build a new web nearly every day, mostly at night. " * 10


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


def article(title: str) -> str:
    return say(f"<html lang=en><title>{title}</title><h1>Webs</h1><p>{PROSE}</p>")


async def test_an_empty_list_offers_the_form(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    shown = (await client.get("/app/batches")).text
    assert "No batches yet" in shown
    assert 'value="markdown" checked' in shown


async def test_a_batch_is_started_followed_read_and_downloaded(visit: Visit, site: Site) -> None:
    client = await sign_in(visit, "user")
    good = site.url(article("&lt;script&gt;alert(1)&lt;/script&gt;"))
    lines = f"{good}\n\n  nonsense{HOSTILE}\n"
    form = {"urls": lines, "tier": "basic", "formats": ["markdown", "links"], "mainContent": "on"}
    sent = await client.post("/app/batches", data={"once": "one", **form})
    assert sent.status_code == 303, sent.text
    where = sent.headers["location"].partition("?")[0]

    waiting = (await client.get(where)).text
    assert f'data-job-counts="/batch/fetch/{where.rpartition("/")[2]}"' in waiting
    assert "Batch of 2 addresses" in waiting
    async with working(visit):
        await over(visit, where.rpartition("/")[2])

    shown = (await client.get(where)).text
    assert "data-job-events" not in shown
    assert "is-ok" in shown
    assert "INVALID_URL" in shown
    assert "<script>alert" not in shown
    downloaded = await client.get(f"{where}/results.ndjson")
    assert downloaded.headers["content-type"].startswith("application/x-ndjson")
    assert "attachment" in downloaded.headers["content-disposition"]
    results = [json.loads(line) for line in downloaded.text.splitlines()]
    assert [result["status"] for result in results] == ["done", "failed"]
    assert {"content", "links"} <= set(results[0]["result"])
    assert '<td class="num">2</td><td class="num">1</td>' in (await client.get("/app/batches")).text


async def test_results_have_pages(visit: Visit, site: Site) -> None:
    client = await sign_in(visit, "user")
    lines = "\n".join(f"nonsense-{number}" for number in range(30))
    sent = await client.post("/app/batches", data={"once": "one", "urls": lines, "formats": "markdown"})
    where = sent.headers["location"].partition("?")[0]
    async with working(visit):
        await over(visit, where.rpartition("/")[2])

    first, second = (await client.get(where)).text, (await client.get(f"{where}?cursor=25")).text

    assert first.count("INVALID_URL") == 25
    assert second.count("INVALID_URL") == 5
    assert f'href="{where}?cursor=25"' in first


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"urls": "", "formats": "markdown"}, "urls"),
        ({"urls": f"https://a.example/{HOSTILE}", "formats": "nonsense"}, "formats"),
        ({"urls": "https://a.example/", "formats": "links", "waitForSelector": "main"}, "browser"),
    ],
)
async def test_a_refused_form_keeps_what_was_typed(visit: Visit, fields: dict[str, str], said: str) -> None:
    client = await sign_in(visit, "user")
    refused = await client.post("/app/batches", data={"once": "one", **fields})
    assert refused.status_code == 400
    box = refused.text.partition("data-problem")[2].partition("</div>")[0]
    assert said in box
    assert fields["urls"].partition("<")[0] in refused.text.partition("<textarea")[2]
    assert "<script>alert" not in refused.text


async def test_a_batch_is_canceled_once(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    sent = await client.post(
        "/app/batches", data={"once": "one", "urls": "https://a.example/", "formats": "markdown"}
    )
    where = sent.headers["location"].partition("?")[0]
    canceled = await client.post(f"{where}/cancel", data={"once": "two"})
    assert "The job is canceled." in (await client.get(canceled.headers["location"])).text
    again = await client.post(f"{where}/cancel", data={"once": "three"})
    assert again.status_code == 422
    assert "canceled already" in again.text


async def test_another_tenants_batch_is_not_there(visit: Visit) -> None:
    owner, other = await sign_in(visit, "user"), await sign_in(visit, "user")
    sent = await owner.post(
        "/app/batches", data={"once": "one", "urls": "https://a.example/", "formats": "markdown"}
    )
    where = sent.headers["location"].partition("?")[0]
    assert (await other.get(where)).status_code == 404
    assert (await other.get(f"{where}/results.ndjson")).status_code == 404
    assert (await other.post(f"{where}/cancel", data={"once": "two"})).status_code == 404
