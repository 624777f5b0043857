"""The playground: a URL in, what Gossamer makes of it out, and the same call for a program."""

import html
import json
import re
import shlex
from typing import Any

import httpx
import pytest
from tests.doors.fetches import Fetching, OpenFetching, fetching, open_fetching, say
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.renders import OpenRendering, article, open_rendering
from tests.doors.services import AS_ADMIN, Visit

__all__ = ["fetching", "open_fetching", "open_rendering"]

HOSTILE = "<script>alert(1)</script>\"'"
PAGE = f"""<!doctype html><html lang="en"><head><title>Orb webs &lt;script&gt;alert(1)&lt;/script&gt;</title>
<meta name="description" content='How "spiders" &lt;b&gt; build'>
<script type="application/ld+json">
{{"@type": "Article", "headline": "Orb webs", "author": "A. Diadema"}}</script>
</head><body><article><h1>Orb webs</h1><p>{"Orb weavers build a new web nearly every day. " * 8}</p>
<p onclick="alert(1)">The <a href="https://site.example/spiral">capture spiral</a> is sticky.</p>
<img src="https://tracker.example/pixel.png" alt="A web"><iframe src="https://evil.example/"></iframe>
<script>alert(1)</script></article></body></html>"""


async def run(client: httpx.AsyncClient, **fields: str) -> httpx.Response:
    return await client.post("/app/playground", data={"do": "fetch", **fields})


def code(page: httpx.Response, language: str) -> str:
    """The call in this language, as the page shows it."""
    found = re.search(rf'class="language-{language}"><code>(.*?)</code>', page.text, re.S)
    assert found is not None
    return html.unescape(found[1])


async def test_the_page_asks_for_a_session(visit: Visit) -> None:
    away = await visit.client.get("/app/playground")

    assert away.status_code == 303
    assert away.headers["location"] == "/app/sign-in?next=/app/playground"


async def test_the_form_begins_with_what_another_page_names(visit: Visit) -> None:
    client = await sign_in(visit, "user")

    page = await client.get("/app/playground", params={"url": f"https://a.example/{HOSTILE}", "do": "pdf"})

    assert page.status_code == 200
    assert 'value="pdf" checked' in page.text
    assert html.escape(f"https://a.example/{HOSTILE}", quote=False).split('"')[0] in page.text
    assert "<script>alert" not in page.text
    assert "Nothing has run yet" in page.text


async def test_a_fetched_page_is_shown_with_its_outcome_and_its_calls(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")
    url = fetching.site.url(say(PAGE))

    page = await run(client, url=url, format="markdown", render="never", cache="on")

    assert page.status_code == 200, page.text
    assert "This is the page that was asked for." in page.text
    assert "made now, and kept in the cache" in page.text
    assert "Free with a key." in page.text
    assert "# Orb webs" in page.text  # the source
    assert "https://site.example/spiral" in page.text  # a link
    assert "How &#34;spiders&#34; &lt;b&gt; build" in page.text  # of the metadata
    again = await run(client, url=url, format="markdown", render="never", cache="on")
    assert "answered from the cache" in again.text


async def test_content_is_shown_in_a_frame_that_neither_runs_nor_loads_anything(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")

    page = await run(client, url=fetching.site.url(say(PAGE)), render="never")

    frame = re.search(r'<iframe class="preview" sandbox="" [^>]*?srcdoc="([^"]*)"', page.text)
    assert frame is not None
    document = html.unescape(frame[1])
    assert "<h1>Orb webs</h1>" in document
    assert not re.search(r"<script|<iframe|onclick|style=", document)
    assert "<script>alert" not in page.text
    # The frame inherits the policy of the page: no scripts of its own, and no pictures from elsewhere.
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "img-src 'self' data: blob:" in policy


async def test_the_shown_call_is_the_one_that_was_made(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")
    page = await run(
        client, url=fetching.site.url(say(PAGE)), format="llm", render="never", include="article"
    )

    tool = json.loads(code(page, "json"))["params"]
    assert (tool["name"], tool["arguments"]["format"]) == ("fetch", "llm")
    assert tool["arguments"]["include"] == ["article"]
    body = json.loads(shlex.split(code(page, "sh"))[-1])
    assert body["formats"][0] == "llm"
    assert body["include"] == ["article"]
    written = code(page, "python")
    compile(written, "call", "exec")
    assert "/fetch" in written
    asked = await fetching.visit.client.post("/fetch", json=body, headers=AS_ADMIN)
    assert asked.status_code == 200, asked.text


@pytest.mark.parametrize(
    ("chosen", "where"), [("markdown", "content"), ("llm", "content"), ("text", "text"), ("html", "html")]
)
async def test_a_program_finds_the_format_where_the_call_says(
    fetching: Fetching, chosen: str, where: str
) -> None:
    client = await sign_in(fetching.visit, "user")

    page = await run(client, url=fetching.site.url(say(PAGE)), format=chosen, render="never")

    body = json.loads(shlex.split(code(page, "sh"))[-1])
    assert code(page, "python").endswith(f'print(answer.json()["{where}"])')
    asked = await fetching.visit.client.post("/fetch", json=body, headers=AS_ADMIN)
    assert "Orb weavers" in asked.json()[where]


async def test_a_page_that_is_something_else_says_so_in_words(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")

    page = await run(client, url=fetching.site.url("/status/403"), render="never")

    assert page.status_code == 200
    assert "The site did not let us in." in page.text
    assert "access is denied" in page.text


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"url": ""}, 400, "There is no URL."),
        ({"url": f"ftp://a.example/{HOSTILE}"}, 400, "Invalid URL"),
        ({"url": "http://10.0.0.1/"}, 400, "Invalid URL"),
        ({"do": "search", "query": ""}, 400, "There is nothing to search for."),
        ({"do": "nonsense"}, 400, "Choose what to do"),
        (
            {"do": "extract", "url": "https://a.example/", "schema": "{nonsense"},
            400,
            "The schema is not JSON",
        ),
        ({"url": "https://a.example/", "include": "a["}, 400, "Invalid Selector"),
        ({"url": "https://a.example/", "format": "nonsense"}, 400, "Validation Error"),
    ],
)
async def test_a_refused_form_keeps_what_was_typed_beside_the_problem(
    fetching: Fetching, fields: dict[str, str], status: int, said: str
) -> None:
    client = await sign_in(fetching.visit, "user")

    page = await run(client, **fields, wait_for=HOSTILE)

    assert page.status_code == status, page.text
    assert said in page.text
    assert "data-problem" in page.text
    assert 'value="&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;"' in page.text
    assert "<script>alert" not in page.text
    for typed in (fields.get("url", ""), fields.get("schema", "")):
        assert str(html.escape(typed)).replace("&quot;", "&#34;").replace("&#x27;", "&#39;") in page.text


async def test_an_address_without_a_scheme_is_completed(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")

    page = await run(client, url="nowhere.example:8443/page", render="never")

    assert page.status_code >= 400
    assert "nowhere.example" in page.text
    assert 'value="nowhere.example:8443/page"' in page.text


async def test_data_is_extracted_by_an_example_and_its_sources_are_named(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")

    page = await run(
        client, do="extract", example="article", url=fetching.site.url(say(PAGE)), render="never"
    )

    assert page.status_code == 200, page.text
    assert "&#34;Orb webs&#34;" in page.text
    assert "json-ld" in page.text
    assert "Not on the page" in page.text


async def test_a_search_finds_what_was_read_and_marks_the_words(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")
    prose = "A bolaspider swings. " * 20
    text = f"<!doctype html><title>Bolas &lt;b&gt;</title><h1>Bolas &lt;b&gt;</h1><p>{prose}</p>"
    assert (await run(client, url=fetching.site.url(say(text)), render="never")).status_code == 200

    page = await run(client, do="search", query="bolaspider")

    assert page.status_code == 200, page.text
    assert "<mark>bolaspider</mark>" in page.text
    assert "Bolas &lt;b&gt;" in page.text
    nothing = await run(client, do="search", query="zyzzyva")
    assert "No page matches." in nothing.text


async def test_a_call_counts_as_work(open_fetching: OpenFetching) -> None:
    async with open_fetching(limit_user="1/60") as service:
        client = await sign_in(service.visit, "user")
        url = service.site.url("/ok")

        assert (await run(client, url=url, render="never")).status_code == 200
        assert (await run(client, url=url, render="never")).status_code == 429
        assert (await client.get("/app/playground")).status_code == 200  # looking is free


async def test_a_form_without_the_csrf_token_is_refused(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")
    del client.headers["X-CSRF-Token"]

    assert (await run(client, url=fetching.site.url("/ok"))).status_code == 403


async def test_the_price_is_shown_where_payments_are_taken(open_fetching: OpenFetching) -> None:
    wallets: dict[str, Any] = {
        "wallet_address": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
        "wallet_svm": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
    }
    async with open_fetching(**wallets) as service:
        client = await sign_in(service.visit, "user")

        page = await run(client, url=service.site.url("/ok"), render="never")

    assert "Free with a key. Without one $0.005, or $0.0015 from the cache." in page.text


async def test_a_browser_makes_pictures_files_and_rendered_pages(open_rendering: OpenRendering) -> None:
    async with open_rendering() as service:
        client = await sign_in(service.visit, "user")
        url = service.site.url(say(article("Rendered")))

        picture = await run(client, do="screenshot", url=url, viewport="phone", full_page="on")
        assert picture.status_code == 200, picture.text
        assert 'src="data:image/png;base64,iVBOR' in picture.text
        assert '"fullPage": true' in code(picture, "sh").replace("True", "true")

        printed = await run(client, do="pdf", url=url, paper="A5")
        assert printed.status_code == 200, printed.text
        assert 'href="data:application/pdf;base64,JVBER' in printed.text
        assert 'download="page.pdf"' in printed.text

        rendered = await run(client, do="render", url=url, cache="on")
        assert rendered.status_code == 200, rendered.text
        assert "&lt;h1&gt;Rendered&lt;/h1&gt;" in rendered.text
        assert "made now, and kept in the cache" in rendered.text
        again = await run(client, do="render", url=url, cache="on")
        assert "answered from the cache" in again.text
