"""Crawls over HTTP, with a real crawler on real pages."""

import csv
import io
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import chain
from typing import Any

import msgspec
import pytest
from tests.doors.crawls import OPEN, PROSE, ROBOTS, Web, begin, crawling, get, over, page, post
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site

from gossamer.doors.http.api.crawl import crawl_pages
from gossamer.doors.http.api.crawl.crawl_page_lines import EXAMPLE_PAGE
from gossamer.doors.http.api.crawl.crawl_pages import PagesThatFit
from gossamer.flows.crawl.reading import results
from gossamer.flows.crawl.reading.results import WantedContent
from gossamer.flows.pages.encoding import MAX_ANSWER_BYTES
from gossamer.state.crawl.crawled_pages import PageFilter
from gossamer.state.tenants.tenants import Role


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


@pytest.fixture
def web(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


async def test_a_crawl_from_asking_to_its_pages(database_url: str, visiting: Visiting, web: Web) -> None:
    async with visiting(database_url=database_url, **OPEN) as visit:
        begun = await begin(visit, web.seed, name="a web", headers={"Authorization": "Basic x"})
        assert (begun["status"], begun["counts"]["pending"]) == ("running", 1)
        assert begun["options"]["headers"] == ["Authorization"]
        assert "Basic" not in json.dumps(begun)
        async with crawling(visit):
            done = await over(visit, begun["crawlId"])
        assert (done["status"], done["counts"]["pages"], done["name"]) == ("done", 3, "a web")
        assert done["counts"]["pending"] == done["counts"]["inProgress"] == 0
        listed = await get(visit, done["pagesUrl"])
        assert {one["url"] for one in listed["pages"]} == web.urls
        assert listed["nextCursor"] is None
        root = next(one for one in listed["pages"] if one["url"] == web.seed)
        assert (root["statusCode"], root["outcome"], root["title"]) == (200, "ok", "The root")
        assert (root["linksCount"], root["depth"], root["language"], root["via"]) == (2, 0, "en", "fetch")
        crawls = (await get(visit, "/api/crawls", status="done"))["crawls"]
        assert [crawl["crawlId"] for crawl in crawls] == [begun["crawlId"]]


async def test_pages_are_listed_with_several_formats_at_once(visit: Visit, web: Web) -> None:
    begun = await begin(visit, web.seed, maxPages=1)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    names = "markdown,html,rawHtml,text,links,images,metadata"
    [root] = (await get(visit, begun["pagesUrl"], formats=names, mainContent="false"))["pages"]
    assert root["markdown"].startswith("# The root")
    assert "<h1>The root</h1>" in root["html"]
    assert root["rawHtml"].startswith('<html lang="en">')
    assert {link["url"] for link in root["links"]} == web.urls - {web.seed}
    assert (root["images"], root["metadata"]["language"]) == ([], "en")
    [plain] = (await get(visit, begun["pagesUrl"], formats="links", content="markdown"))["pages"]
    assert plain["content"].startswith("# The root")
    assert "markdown" not in plain
    refused = await visit.client.get(begun["pagesUrl"], params={"formats": "smell"}, headers=AS_ADMIN)
    assert refused.status_code == 400


@pytest.mark.parametrize("damage", ["a byte", "the end", "all of it"])
async def test_a_damaged_page_is_told_as_that_and_the_others_are_shown(
    visit: Visit, web: Web, damage: str
) -> None:
    begun = await begin(visit, web.seed)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    service = visit.service
    found = await service.crawl_results.listing(PageFilter(crawl_id=begun["crawlId"]), None, 10)
    assert len(found) == 3
    hurt = max((each.page for each in found), key=lambda row: (row.blob or "", row.blob_offset))
    blob = hurt.blob or ""
    whole = bytearray(await service.blobs.get(blob) or b"")
    if damage == "a byte":
        whole[hurt.blob_offset + hurt.blob_size // 2] ^= 0x40
    else:
        del whole[hurt.blob_offset + (hurt.blob_size // 2 if damage == "the end" else 0) :]
    await service.blobs.put(blob, bytes(whole))
    listed = (await get(visit, begun["pagesUrl"], content="markdown"))["pages"]
    lines = {**AS_ADMIN, "Accept": "application/x-ndjson"}
    followed = await visit.client.get(begun["pagesUrl"], headers=lines, params={"content": "text"})
    for pages in (listed, [json.loads(line) for line in followed.text.splitlines()]):
        told = {one["url"]: one.get("contentError") for one in pages}
        assert told == {url: "damaged_content" if url == hurt.url else None for url in web.urls}
        assert all(("content" in one) == (one["url"] != hurt.url) for one in pages)
    answer = await visit.client.get(
        f"/api/crawls/{begun['crawlId']}/pages/{hurt.url_hash}/content", headers=AS_ADMIN
    )
    assert_problem(answer, "CONTENT_UNREADABLE")
    assert answer.json()["details"]["reason"] == "damaged_content"


async def test_pages_as_lines_as_a_table_and_one_after_the_other(visit: Visit, web: Web) -> None:
    trick = say(f"<title>=1+2</title><h1>A trick</h1><p>{PROSE}</p>")
    begun = await begin(visit, web.seed, web.origin + trick)
    lines = {**AS_ADMIN, "Accept": "application/x-ndjson"}
    async with crawling(visit):  # it is followed while it runs
        followed = await visit.client.get(begun["pagesUrl"], headers=lines, params={"content": "markdown"})
    pages = [json.loads(line) for line in followed.text.splitlines()]
    assert {one["url"] for one in pages} == web.urls | {web.origin + trick}
    assert all(PROSE.strip() in one["content"] for one in pages)
    rest = await visit.client.get(begun["pagesUrl"], headers=lines, params={"cursor": pages[1]["cursor"]})
    assert [json.loads(line)["url"] for line in rest.text.splitlines()] == [one["url"] for one in pages[2:]]
    table = await visit.client.get(begun["pagesUrl"], headers={**AS_ADMIN, "Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["url"] for row in rows] == [one["url"] for one in pages]
    assert "'=1+2" in {row["title"] for row in rows}  # no formula
    seen, cursor = [], None
    for _ in pages:
        further: dict[str, Any] = {"cursor": cursor} if cursor else {}
        answer = await get(visit, begun["pagesUrl"], limit=1, **further)
        seen += [one["url"] for one in answer["pages"]]
        cursor = answer["nextCursor"]
    assert (seen, cursor) == ([one["url"] for one in pages], None)
    titled = await get(visit, "/api/pages", crawl=begun["crawlId"], statusCode=200, outcome="ok", limit=2)
    assert len(titled["pages"]) == 2
    assert (await get(visit, begun["pagesUrl"], statusCode=404))["pages"] == []
    host = web.origin.removeprefix("http://")
    assert len((await get(visit, begun["pagesUrl"], host=host))["pages"]) == 4
    for cursor in ("nonsense", "12-", "x-y"):
        response = await visit.client.get(begun["pagesUrl"], params={"cursor": cursor}, headers=AS_ADMIN)
        assert_problem(response, "VALIDATION_ERROR")


async def test_what_a_page_says_is_read_out_of_what_was_kept(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    text = say(f"<title>A web</title><main><h1>A web</h1><p>{PROSE}</p></main><script>1</script>")
    picture = say(b"\x89PNG\r\n\x1a\n" + bytes(100), "Content-Type: image/png")
    begun = await begin(visit, origin + text, origin + picture)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    asked = len(site.requests)
    pages = {one["url"]: one for one in (await get(visit, begun["pagesUrl"]))["pages"]}
    where = pages[origin + text]["contentUrl"]
    assert (await get(visit, where.removesuffix("/content"))) == pages[origin + text]

    async def content(accept: str = "*/*", **query: str) -> tuple[str, str]:
        answer = await visit.client.get(where, params=query, headers={**AS_ADMIN, "Accept": accept})
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
        return answer.headers["content-type"].partition(";")[0], answer.text

    media_type, markdown = await content()
    assert (media_type, markdown.startswith("# A web")) == ("text/markdown", True)
    assert (await content("text/html"))[0] == "text/html"
    assert "<script>" not in (await content("text/html"))[1]
    assert (await content("text/html", format="text"))[0] == "text/plain"
    assert "<script>1</script>" in (await content(format="raw"))[1]
    unread = await visit.client.get(pages[origin + picture]["contentUrl"] or "/", headers=AS_ADMIN)
    assert unread.status_code >= 400
    assert_problem(await visit.client.get(f"{begun['pagesUrl']}/none", headers=AS_ADMIN), "NOT_FOUND")
    assert len(site.requests) == asked  # nothing was fetched for it


async def test_pages_come_as_they_are_read_and_say_why_one_cannot_be(
    visit: Visit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = site.origins(1)[0]
    texts = [page(f"Page {number}") for number in range(3)]
    picture = say(b"\x89PNG\r\n\x1a\n" + bytes(100), "Content-Type: image/png")
    begun = await begin(visit, *(origin + target for target in (*texts, picture)))
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    monkeypatch.setattr(crawl_pages, "READING_SECONDS", 0.0)  # so there is time for one
    seen: dict[str, Any] = {}
    cursor: dict[str, Any] = {}
    for left in reversed(range(4)):
        answer = await get(visit, begun["pagesUrl"], content="text", limit=1000, **cursor)
        (one,) = answer["pages"]
        seen[one["url"].removeprefix(origin)] = one
        assert (answer["nextCursor"] is None) == (left == 0)
        cursor = {"cursor": answer["nextCursor"]}
    assert all(PROSE.strip() in seen[target]["content"] for target in texts)
    assert not any("contentError" in seen[target] for target in texts)
    assert seen[picture].get("content") is None
    assert seen[picture]["contentError"]
    monkeypatch.setattr(results, "MAX_CHUNK_CHARS", 0)
    which = PageFilter(crawl_id=begun["crawlId"])
    async with aclosing(visit.service.crawl_results.follow(which, None, WantedContent("text"))) as followed:
        handed = [[stored.page.url for stored in some] async for some in followed]
    assert list(chain.from_iterable(handed)) == [origin + target for target in seen]
    assert sum(bool(some) for some in handed) >= 3  # no words wait for others


def test_an_answer_has_at_least_one_page_and_no_more_than_there_is_room_for() -> None:
    large, huge = "x" * (MAX_ANSWER_BYTES // 2), "x" * MAX_ANSWER_BYTES
    fitting = PagesThatFit()
    assert fitting.add(msgspec.structs.replace(EXAMPLE_PAGE, content=huge))
    assert fitting.add(msgspec.structs.replace(EXAMPLE_PAGE, content=large))
    assert not fitting.add(msgspec.structs.replace(EXAMPLE_PAGE, content=large))
    first, second = fitting.pages
    assert (first.content, first.content_error) == (msgspec.UNSET, "answer_too_large")
    assert (second.content, second.content_error) == (large, msgspec.UNSET)


async def test_what_a_target_says_of_its_body_is_told_in_our_words(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    said = {
        f"text/html; x={'y' * 3_000}": "text/html; charset=utf-8",
        "text/html; charset=windows-1252": "text/html; charset=windows-1252",
        "application/pdf; a\tb": "application/pdf",
        f"text/{'y' * 300}": "application/octet-stream",
    }
    targets = {say(f"<p>{PROSE}", f"Content-Type: {each}"): told for each, told in said.items()}
    begun = await begin(visit, *(origin + target for target in targets))
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    for one in (await get(visit, begun["pagesUrl"]))["pages"]:
        raw = await visit.client.get(one["contentUrl"], params={"format": "raw"}, headers=AS_ADMIN)
        assert raw.headers["content-type"] == targets[one["url"].removeprefix(origin)]


async def test_a_crawl_is_paused_resumed_and_stopped(visit: Visit, web: Web) -> None:
    begun = await begin(visit, web.seed)
    here = begun["statusUrl"]
    states = {"pause": "paused", "resume": "running"}
    for verb in ("pause", "pause", "resume", "resume", "pause"):
        assert (await post(visit, f"{here}/{verb}")).json()["status"] == states[verb]
    async with crawling(visit):
        other = await begin(visit, Web.on(web.origin).seed)
        await over(visit, other["crawlId"])
        assert (await get(visit, here))["counts"]["pages"] == 0
        await post(visit, f"{here}/resume")
        assert (await over(visit, begun["crawlId"]))["counts"]["pages"] == 3
    stopped = await begin(visit, web.seed)
    assert (await post(visit, f"{stopped['statusUrl']}/stop")).json()["status"] == "canceled"
    for verb in ("resume", "pause", "stop"):  # what is over stays over
        assert (await post(visit, f"{stopped['statusUrl']}/{verb}")).json()["status"] == "canceled"


async def test_how_far_a_crawl_goes(visit: Visit, site: Site) -> None:
    origin, other = site.origins(2)
    deep = page("Deep")
    near = page("Near", deep)
    begun = await begin(visit, origin + page("Root", near, other + deep), maxDepth=1)
    few = await begin(visit, Web.on(origin).seed, maxPages=1)
    without = await begin(visit, origin + page("Root", near), exclude=[f"*{near}*"])
    async with crawling(visit):
        for crawl, expected in ((begun, 2), (few, 1), (without, 1)):
            assert (await over(visit, crawl["crawlId"]))["counts"]["pages"] == expected


async def test_what_is_sent_along_is_for_the_seeds_own_hosts(visit: Visit, site: Site) -> None:
    origin, other = site.origins(2)
    near, far = page("Near"), page("Far")
    root = page("Root", near, other + far)
    begun = await begin(visit, origin + root, scope="any", headers={"Authorization": "Basic secret"})
    async with crawling(visit):
        assert (await over(visit, begun["crawlId"]))["counts"]["pages"] == 3
    sent = {target: site.seen(target)[0].header("authorization") for target in (root, near, far)}
    assert sent == {root: "Basic secret", near: "Basic secret", far: None}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"seeds": ["ftp://example.com/"]}, "INVALID_URL"),
        ({"seeds": ["http://169.254.169.254/"]}, "INVALID_URL"),
        ({"seeds": ["http://127.0.0.1/", "http://localhost/"]}, "INVALID_URL"),
        ({"seeds": ["http://127.0.0.1/" + "x" * 2_048]}, "INVALID_URL"),
        ({"seeds": []}, "VALIDATION_ERROR"),
        ({"seeds": ["http://127.0.0.1/"], "scope": "all"}, "VALIDATION_ERROR"),
        ({"seeds": ["http://127.0.0.1/"], "maxPages": 0}, "VALIDATION_ERROR"),
        ({"seeds": ["http://127.0.0.1/"], "headers": {"Host": "example.com"}}, "VALIDATION_ERROR"),
        ({"seeds": ["http://127.0.0.1/"], "more": 1}, "VALIDATION_ERROR"),
    ],
)
async def test_bad_input_is_refused_and_nothing_is_begun(visit: Visit, body: object, code: str) -> None:
    assert_problem(await post(visit, "/api/crawls", body), code)
    assert (await get(visit, "/api/crawls"))["crawls"] == []


async def test_decision10_a_tenant_sees_only_its_own(visiting: Visiting, web: Web) -> None:
    async with visiting(**{**OPEN, "crawl_delay": "1"}) as visit:
        theirs = await begin(visit, web.seed)
        user = bearer(await visit.key(Role.USER))
        here = theirs["statusUrl"]
        for path in (here, theirs["pagesUrl"], f"{here}/pages/x", f"{here}/pages/x/content"):
            assert_problem(await visit.client.get(path, headers=user), "NOT_FOUND")
        for verb in ("pause", "resume", "stop"):
            assert_problem(await post(visit, f"{here}/{verb}", sent=user), "NOT_FOUND")
        for path in ("/api/pages", "/api/domains", "/api/stats/timeseries", "/api/stats"):
            answer = await visit.client.get(path, params={"crawl": theirs["crawlId"]}, headers=user)
            assert_problem(answer, "NOT_FOUND")
        assert (await get(visit, "/api/crawls", sent=user))["crawls"] == []
        mine = await begin(visit, web.seed, sent=user)
        assert [one["crawlId"] for one in (await get(visit, "/api/crawls", sent=user))["crawls"]] == [
            mine["crawlId"]
        ]
        assert len((await get(visit, "/api/crawls"))["crawls"]) == 2  # admins see all
        hasty = {"seeds": [web.seed], "delay": 0.5}
        assert_problem(await post(visit, "/api/crawls", hasty, user), "FORBIDDEN")
        assert (await post(visit, "/api/crawls", hasty)).status_code == 202
        assert_problem(await visit.client.get("/api/crawls"), "UNAUTHORIZED")


async def test_an_idempotency_key_begins_one_crawl(visit: Visit, web: Web) -> None:
    headers = {**AS_ADMIN, "Idempotency-Key": "one"}
    first, again = [
        await visit.client.post("/api/crawls", json={"seeds": [web.seed]}, headers=headers) for _ in range(2)
    ]
    assert again.json() == first.json()
    assert again.headers["x-idempotent-replayed"] == "true"
    assert len((await get(visit, "/api/crawls"))["crawls"]) == 1


async def test_crawls_are_listed_newest_first_page_by_page(visit: Visit, web: Web) -> None:
    made = [(await begin(visit, web.seed))["crawlId"] for _ in range(3)]
    first = await get(visit, "/api/crawls", limit=2)
    rest = await get(visit, "/api/crawls", limit=2, cursor=first["nextCursor"])
    assert [crawl["crawlId"] for crawl in first["crawls"] + rest["crawls"]] == made[::-1]
    assert rest["nextCursor"] is None


async def test_robots_are_obeyed_and_told(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    host = origin.removeprefix("http://")
    secret = page("Secret")
    ROBOTS[host] = f"User-agent: *\nDisallow: {secret}\n"
    begun = await begin(visit, origin + page("Root", secret))
    async with crawling(visit):
        done = await over(visit, begun["crawlId"])
    assert (done["counts"]["pages"], done["counts"]["blocked"]) == (1, 1)
    told = await get(visit, f"/api/domains/{host}/robots")
    assert (told["host"], told["status"], told["body"]) == (host, 200, ROBOTS[host])
    domains = await get(visit, "/api/domains", crawl=begun["crawlId"])
    assert [(one["host"], one["counts"]["completed"]) for one in domains["domains"]] == [(host, 1)]
    user = bearer(await visit.key(Role.USER))
    for path, sent in ((f"/api/domains/{host}/robots", user), ("/api/domains/example.com/robots", AS_ADMIN)):
        assert_problem(await visit.client.get(path, headers=sent), "NOT_FOUND")
