"""The list of crawls, and the form that starts one."""

import re

import httpx
import pytest
from tests.doors.crawls import begin, page
from tests.doors.services import Visit
from tests.site.server import Site

from gossamer.web.crawl.spec import NewCrawl

HOSTILE = "<script>alert(1)</script>\"'"
SEED = "https://example.com/docs/"


async def test_the_first_visit_says_what_to_do(visit: Visit, user: httpx.AsyncClient) -> None:
    shown = await user.get("/app/crawls")
    assert shown.status_code == 200
    assert "There is no crawl yet" in shown.text
    assert 'href="/app/crawls/new"' in shown.text
    assert "No crawl is in this state" in (await user.get("/app/crawls?status=paused")).text
    assert (await user.get("/app/crawls?status=nonsense")).status_code == 400


async def test_a_crawl_from_the_form_to_the_list(visit: Visit, user: httpx.AsyncClient) -> None:
    sent = {"seeds": f"{SEED}\n\n  https://example.org/ ", "name": HOSTILE, "max_pages": "25"}
    sent |= {
        "scope": "prefix",
        "include": "/docs/*\n*.html",
        "headers": "Accept-Language: de",
        "delay": "2.5",
    }
    started = await user.post("/app/crawls/new", data=sent)
    assert started.status_code == 303, started.text
    crawl_id = re.fullmatch(r"/app/crawls/(\w{26})\?notice=crawl-started", started.headers["location"])[1]  # type: ignore[index]
    crawl = await visit.service.crawls.get(crawl_id)
    assert crawl is not None
    assert crawl.spec.seeds == (SEED, "https://example.org/")
    assert (crawl.spec.scope, crawl.spec.max_pages, crawl.spec.delay) == ("prefix", 25, 2.5)
    assert crawl.spec.include == ("/docs/*", "*.html")
    assert crawl.spec.headers == {"Accept-Language": "de"}
    assert (crawl.spec.sitemaps, crawl.spec.max_depth) == (False, 10)  # a box without its tick; a default
    listed = (await user.get("/app/crawls?status=running")).text
    assert f'href="/app/crawls/{crawl_id}"' in listed
    assert HOSTILE not in listed
    assert "&lt;script&gt;alert(1)" in listed


async def test_a_double_click_starts_one_crawl(visit: Visit, user: httpx.AsyncClient) -> None:
    sent = {"seeds": SEED, "once": "a-key-of-this-form"}
    first, second = [await user.post("/app/crawls/new", data=sent) for _ in range(2)]
    assert first.headers["location"] == second.headers["location"]


async def test_every_option_of_a_crawl_is_in_the_form(visit: Visit, user: httpx.AsyncClient) -> None:
    form = (await user.get("/app/crawls/new?url=https://example.com/")).text
    assert 'name="webhook"' not in form  # webhooks have pages of their own
    for name in set(NewCrawl.__struct_fields__) - {"webhook"}:
        assert re.search(rf'name="{name}"', form), name
    assert "https://example.com/</textarea>" in form
    assert '<option value="prefix">' in form
    assert re.search(r'name="max_pages" value="1000"[^>]*min="1" max="100000000"', form)
    assert re.search(r'name="sitemaps" checked', form)
    assert "Follow links at most this far from a seed." in form


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("seeds", "", "Seeds"),
        ("seeds", "not a url", "not a url"),
        ("max_pages", "0", "Max pages: expected `int` &gt;= 1"),
        ("delay", "soon", "Delay: expected"),
        ("headers", "no colon here", "no colon"),
        ("rules", "no JSON here", "Rules: "),
        ("rules", '[{"hots": "example.com"}]', "hots"),
        ("include", "/a*\n" * 51, "Include: expected"),
        ("delay", "0.001", "is for admins"),
    ],
)
async def test_a_refused_form_keeps_what_was_typed(
    visit: Visit, user: httpx.AsyncClient, field: str, text: str, said: str
) -> None:
    sent = {"seeds": SEED, "name": HOSTILE, "exclude": "/private*", field: text}
    refused = await user.post("/app/crawls/new", data=sent)
    assert refused.status_code in (400, 403), refused.text
    assert said.replace("`", "") in refused.text.replace("`", "")
    assert "data-problem" in refused.text
    assert "/private*</textarea>" in refused.text
    assert HOSTILE not in refused.text
    assert "&lt;script&gt;alert(1)" in refused.text
    assert not re.search(r'name="sitemaps" checked', refused.text)
    assert "There is no crawl yet" in (await user.get("/app/crawls")).text


async def test_lists_have_pages_and_show_only_what_is_ones_own(
    visit: Visit, admin: httpx.AsyncClient, user: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.doors.http.dashboard.work.crawl_list.LISTED", 2)
    begun = [(await begin(visit, f"https://example.com/{number}"))["crawlId"] for number in range(3)]
    first = (await admin.get("/app/crawls")).text
    assert [crawl_id in first for crawl_id in begun] == [False, True, True]
    link = re.search(r'href="(/app/crawls\?cursor=\w+)" rel="next"', first)
    assert link is not None
    second = (await admin.get(link[1])).text
    assert [crawl_id in second for crawl_id in begun] == [True, False, False]
    assert "Back to the beginning" in second
    assert "There is no crawl yet" in (await user.get("/app/crawls")).text


async def test_a_preview_shows_links_and_keeps_the_form(
    visit: Visit, site: Site, admin: httpx.AsyncClient
) -> None:
    (origin,) = site.origins(1)
    seed = origin + page("A root", "/said/in", "https://elsewhere.example/", "/private/x")
    sent = {"seeds": seed, "exclude": "/private*", "name": HOSTILE, "max_depth": "3"}
    shown = await admin.post("/app/crawls/new/preview", data=sent)
    assert shown.status_code == 200, shown.text
    assert "1 of 3 links are in the scope." in shown.text
    assert "on another host than the seeds" in shown.text
    assert "matches a pattern of exclude" in shown.text
    assert "/private*</textarea>" in shown.text
    assert re.search(r'name="max_depth" value="3"', shown.text)
    assert HOSTILE not in shown.text
    assert "There is no crawl yet" in (await admin.get("/app/crawls")).text  # nothing has begun
    refused = await admin.post("/app/crawls/new/preview", data={**sent, "max_depth": "-1"})
    assert refused.status_code == 400
    assert "Max depth: expected" in refused.text
    assert "/private*</textarea>" in refused.text


async def test_somebody_who_has_not_signed_in_is_asked_to(visit: Visit) -> None:
    answer = await visit.client.get("/app/crawls/new")
    assert answer.headers["location"] == "/app/sign-in?next=/app/crawls/new"
