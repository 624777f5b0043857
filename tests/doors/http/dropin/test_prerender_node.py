"""Prerender's own middleware in front of a site, with a Gossamer behind it: what a robot gets."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copy

import httpx
import pytest
from tests.doors.fetches import say
from tests.doors.http.dropin.served import START_SECONDS, at_port
from tests.doors.renders import PROSE, RENDERED, Rendering, app_page, article, opened
from tests.doors.services import ADMIN_KEY
from tests.npm import install_packages
from tests.site.server import Site

NODE = Path(__file__).parent / "node"
ROBOT = {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"}
PERSON = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"}


@dataclass(frozen=True)
class Fronts:
    """The same site behind several settings of the middleware."""

    rendering: Rendering
    client: httpx.AsyncClient
    gossamer: str
    usual: str
    at_host: str
    without_token: str
    wrong_token: str

    async def get(self, url: str, headers: dict[str, str] = ROBOT) -> httpx.Response:
        return await self.client.get(url, headers=headers)


@pytest.fixture(scope="module")
async def fronts(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, site: Site
) -> AsyncIterator[Fronts]:
    folder = tmp_path_factory.mktemp("service")
    copy(sqlite_template, folder)
    install_packages(NODE)
    async with (
        opened(
            folder, site, prerender_host="localhost", prerender_seconds="25", drain_seconds="0"
        ) as rendering,
        at_port(rendering.service) as port,
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
    ):
        by_path, by_host = f"http://127.0.0.1:{port}/prerender", f"http://localhost:{port}/"
        wanted = [
            {"serviceUrl": by_path, "token": ADMIN_KEY},
            {"serviceUrl": by_host, "token": ADMIN_KEY},
            {"serviceUrl": by_path},
            {"serviceUrl": by_path, "token": "sk_live_wrong"},
        ]
        process = await asyncio.create_subprocess_exec(
            "node", "serve.mjs", site.url(""), json.dumps(wanted), cwd=NODE, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(START_SECONDS):
                lines = [await process.stdout.readline() for _ in wanted]
            urls = [f"http://127.0.0.1:{line.split()[1].decode()}" for line in lines]
            yield Fronts(rendering, client, f"http://127.0.0.1:{port}", *urls)
        finally:
            process.kill()
            await process.wait()


async def test_a_robot_gets_the_rendered_page_and_a_person_the_site(fronts: Fronts) -> None:
    target = app_page()
    robot, person = await fronts.get(fronts.usual + target), await fronts.get(fronts.usual + target, PERSON)
    assert (robot.status_code, RENDERED in robot.content) == (200, True)
    assert b"<script>" not in robot.content
    assert person.headers["x-site"] == "yes"
    assert b"<script>" in person.content


async def test_the_middleware_does_not_ask_again_for_our_own_visit(fronts: Fronts) -> None:
    target = app_page()
    for query in ("", "?_escaped_fragment_="):
        await fronts.get(fronts.usual + target + query)
    asked = fronts.rendering.site.seen(target)
    assert asked
    assert all(request.header("x-prerender") == "1" for request in asked if request.header("x-front"))
    shown = [line["endpoint"] for line in fronts.rendering.visit.logged() if "/prerender/" in str(line)]
    assert sum(target in path for path in shown) == 2


async def test_only_headers_of_the_page_reach_a_robot(fronts: Fronts) -> None:
    page = await fronts.get(fronts.usual + app_page())
    ours = {"content-security-policy", "x-cache", "x-request-id", "etag", "set-cookie", "x-frame-options"}
    assert not ours & set(page.headers)
    assert not [name for name in page.headers if name.startswith(("x-ratelimit", "x-cache"))]
    assert page.headers["content-type"] == "text/html; charset=utf-8"


async def test_the_second_robot_is_served_from_the_cache(fronts: Fronts) -> None:
    target = app_page()
    first = await fronts.get(fronts.usual + target)
    visits = fronts.rendering.visits(target)
    again = await fronts.get(fronts.usual + target)
    assert again.content == first.content
    assert fronts.rendering.visits(target) == visits


async def test_characters_survive_wherever_the_page_is_cut(fronts: Fronts) -> None:
    data = '{"name": "Z\u00fcrich \U0001f577"}'
    html = (
        f'<!doctype html><title>Gr\u00fc\u00dfe</title><script type="application/ld+json">{data}</script>'
        f"<style>p::after{{content:'\u2190 x'}}</style><p title='\u00e4'>{PROSE}"
        + "\u00fc\u4e16\U0001f577" * 30_000
        + "</p>"
    )
    page = await fronts.get(fronts.usual + say(html))
    assert page.text.isascii()
    assert "Gr&#252;&#223;e" in page.text
    assert "&#252;&#19990;&#128375;" * 30_000 in page.text
    assert r'"Z\u00fcrich \ud83d\udd77"' in page.text
    assert r"content:'\2190  x'" in page.text


async def test_a_page_sets_its_status_and_its_headers(fronts: Fronts) -> None:
    gone = await fronts.get(
        fronts.usual + say(f'<meta name="prerender-status-code" content="404"><h1>Gone</h1>{PROSE}')
    )
    assert (gone.status_code, b"<h1>Gone</h1>" in gone.content) == (404, True)
    moved = await fronts.get(
        fronts.usual
        + say(
            '<meta name="prerender-status-code" content="301">'
            '<meta name="prerender-header" content="Location: https://example.com/new">moved'
        )
    )
    assert (moved.status_code, moved.headers["location"]) == (301, "https://example.com/new")
    broken = await fronts.get(fronts.usual + say(f'<meta name="prerender-status-code" content="503">{PROSE}'))
    assert broken.status_code == 503


async def test_a_page_that_its_server_does_not_have(fronts: Fronts) -> None:
    missing = await fronts.get(fronts.usual + say(article("Nothing here"), status="404 Not Found"))
    assert (missing.status_code, b"Nothing here" in missing.content) == (404, True)


async def test_an_address_keeps_its_query(fronts: Fronts) -> None:
    target = app_page()
    page = await fronts.get(f"{fronts.usual}{target}?b=%C3%BC&a=1&_escaped_fragment_=")
    assert RENDERED in page.content
    assert fronts.rendering.site.seen(f"{target}?a=1&b=%C3%BC")


async def test_a_hash_bang_address_is_visited_as_people_do(fronts: Fronts) -> None:
    html = f"<!doctype html><p id=a></p><p>{PROSE}<script>a.textContent = 'at ' + location.hash</script>"
    page = await fronts.get(f"{fronts.usual}{say(html)}?_escaped_fragment_=/shop%26x")
    assert "at #!/shop&amp;x" in page.text


async def test_the_service_may_have_a_host_of_its_own(fronts: Fronts) -> None:
    target = app_page()
    page = await fronts.get(f"{fronts.at_host}{target}?x=1")
    assert (page.status_code, RENDERED in page.content) == (200, True)
    client, port = fronts.client, fronts.gossamer.rpartition(":")[2]
    assert (await client.get(f"http://localhost:{port}/health")).status_code == 400
    assert (await client.get(f"http://127.0.0.1:{port}/health")).status_code == 200


@pytest.mark.parametrize("front", ["without_token", "wrong_token"])
async def test_a_refusal_is_nothing_that_a_robot_remembers(fronts: Fronts, front: str) -> None:
    page = await fronts.get(getattr(fronts, front) + app_page())
    assert (page.status_code, page.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert int(page.headers["retry-after"]) > 0
    assert "key" in page.text


async def test_a_site_that_is_away(fronts: Fronts) -> None:
    """A robot asks for a page whose server cuts the connection, for the browser and without it."""
    gone = await fronts.client.get(
        f"{fronts.gossamer}/prerender/http://127.0.0.1:9/page", headers={"X-Prerender-Token": ADMIN_KEY}
    )
    assert (gone.status_code, gone.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert int(gone.headers["retry-after"]) > 0
