"""Rules over HTTP: kept, hidden, tried, and followed by crawls and single pages."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.doors.http.api.sites.test_sites import Origin, open_origin
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer

from gossamer.settings.settings import SettingError
from gossamer.state.crawl.crawls import Crawl

PROSE = "Orb weavers build a new web nearly every day, mostly at night, and eat the old one first. " * 4
OPEN = {"egress_allow": "127.0.0.0/8", "egress_ports": "*", "crawl_delay": "0"}


def page(*links: str, text: str = PROSE) -> tuple[str, str]:
    anchors = "".join(f'<a href="{link}">a link</a> ' for link in links)
    return "200 OK", (
        f"<title>A page</title><nav>Navigation {anchors}</nav>"
        f"<article><h1>Spiders</h1><p>{text}</p></article><div class=promo><p>Promotion. {PROSE}</p></div>"
    )


class Seen(Origin):
    """Remembers what it was asked for, with the headers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, dict[str, str]]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        self.asked.append((first.split()[1], headers))
        again = asyncio.StreamReader()
        again.feed_data(head.encode("latin-1"))
        await super().answer(again, writer)

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked if path not in ("/robots.txt", "/sitemap.xml")]


@asynccontextmanager
async def open_seen() -> AsyncIterator[Seen]:
    origin = Seen()
    server = await asyncio.start_server(origin.answer, "127.0.0.1", 0)
    origin.port = server.sockets[0].getsockname()[1]
    try:
        yield origin
    finally:
        server.close()


async def crawl(visit: Visit, **body: Any) -> Crawl:
    """A crawl that is over."""
    answer = await visit.client.post("/api/crawls", json=body, headers=AS_ADMIN)
    assert answer.status_code == 202, answer.text
    stop = asyncio.Event()
    working = asyncio.create_task(visit.service.crawl_worker().run(stop))
    try:
        async with asyncio.timeout(30):
            while True:
                found = await visit.service.crawls.get(answer.json()["crawlId"])
                assert found is not None
                if found.is_over:
                    return found
                await asyncio.sleep(0.02)
    finally:
        stop.set()
        await working


async def test_rules_of_a_site_are_kept_without_their_secrets_and_tried(visiting: Visiting) -> None:
    async with visiting(**OPEN) as visit, open_origin() as origin:
        made = (await visit.client.post("/api/sites", json={"origin": origin.url}, headers=AS_ADMIN)).json()
        here = f"/api/sites/{made['siteId']}/rules"
        rules = [
            {"path": "/blog/*", "keep": ["article"], "drop": [".gone"], "headers": {"cookie": "secret=1"}}
        ]
        put = await visit.client.put(here, json={"rules": rules}, headers=AS_ADMIN)
        assert put.status_code == 200, put.text
        shown = (await visit.client.get(here, headers=AS_ADMIN)).json()
        assert shown["rules"][0]["headers"] == {"cookie": "[hidden]"}
        assert "secret=1" not in put.text
        assert b"secret=1" not in (Path(visit.service.settings.data_dir) / "gossamer.db").read_bytes()
        again = await visit.client.put(here, json=shown, headers=AS_ADMIN)
        assert again.status_code == 200
        site = await visit.service.site_keeper.get(
            await visit.service.admission.identify(AS_ADMIN["Authorization"][7:]), made["siteId"]
        )
        (opened,) = await visit.service.rule_finder.open_site(site)
        assert opened.headers == {"cookie": "secret=1"}
        tried = await visit.client.post(
            f"{here}/try", json={"url": "/blog/1", "html": page()[1]}, headers=AS_ADMIN
        )
        assert tried.status_code == 200, tried.text
        told = tried.json()
        assert [(one["selector"], one["matches"]) for one in told["selectors"]] == [
            ("article", 1),
            (".gone", 0),
        ]
        assert told["warnings"] == ["no_match"]
        assert "Promotion" not in told["after"]["markdown"]
        for wrong in (
            {"rules": [{"keep": ["div["]}]},
            {"rules": [{"host": "other.example"}]},
            {"rules": [{"path": "/x*", "delay": 3}]},
            {"rules": [{"headers": {"host": "x"}}]},
        ):
            assert (await visit.client.put(here, json=wrong, headers=AS_ADMIN)).status_code == 400
        stranger = bearer(await visit.key())
        refused = await visit.client.get(here, headers=stranger)
        assert_problem(refused, "NOT_FOUND")


async def test_a_crawl_follows_the_rules_of_the_site_and_its_own(visiting: Visiting) -> None:
    async with visiting(**OPEN) as visit, open_seen() as origin, open_seen() as other:
        origin.pages["/"] = page("/a?sort=1", "/a?sort=2", "/b?sort=1", "/b?sort=2", f"{other.url}/")
        for path in ("/a?sort=1", "/a?sort=2", "/b?sort=1", "/b?sort=2"):
            origin.pages[path] = page(text=f"{path} {PROSE}")
        other.pages["/"] = page(text=f"Elsewhere. {PROSE}")
        made = (await visit.client.post("/api/sites", json={"origin": origin.url}, headers=AS_ADMIN)).json()
        login = {"headers": {"cookie": "session=secret"}, "keep": ["article"]}
        rules = {"rules": [{"path": "/a*", "ignoreParameters": ["sort"]}, login]}
        put = await visit.client.put(f"/api/sites/{made['siteId']}/rules", json=rules, headers=AS_ADMIN)
        assert put.status_code == 200, put.text
        done = await crawl(
            visit,
            seeds=[f"{origin.url}/"],
            scope="any",
            rules=[{"path": "/b*", "drop": ["h1"], "keep": ["article", ".promo"]}],
        )
        assert sorted(path.partition("?")[0] for path in origin.paths()) == ["/", "/a", "/b", "/b"]
        assert all(
            headers.get("cookie") == "session=secret"
            for path, headers in origin.asked
            if path != "/robots.txt"
        )
        assert other.paths() == ["/"]
        assert not any("cookie" in headers for _, headers in other.asked)
        assert done.is_private
        assert done.rules_sealed == ""  # forgotten with the end of the crawl
        lines = await visit.client.get(
            f"/api/crawls/{done.id}/pages",
            params={"content": "markdown", "format": "ndjson"},
            headers=AS_ADMIN,
        )
        contents = {one["url"]: one["content"] for one in map(json.loads, lines.text.splitlines())}
        a = next(text for url, text in contents.items() if url.startswith(f"{origin.url}/a"))
        b = next(text for url, text in contents.items() if url.startswith(f"{origin.url}/b"))
        assert "Promotion" not in a
        assert "# Spiders" in a
        assert "Promotion" in b  # the crawl's own rule comes first
        assert "# Spiders" not in b


async def test_the_operators_file_counts_for_everybody_and_a_mistake_stops_the_start(
    visiting: Visiting, tmp_path: Path
) -> None:
    async with open_seen() as origin:
        file = tmp_path / "rules.toml"
        file.write_text(f'[[rules]]\nhost = "{origin.url}"\ndrop = [".promo", "h1"]\n')
        origin.pages["/"] = page()
        async with visiting(**OPEN, site_rules=str(file)) as visit:
            sent = bearer(await visit.key())
            for asked, dropped in (
                ({}, True),
                ({"exclude": ["nav"]}, False),
                ({"mainContent": False}, False),
            ):
                answer = await visit.client.post(
                    "/fetch", json={"url": f"{origin.url}/", **asked}, headers=sent
                )
                assert answer.status_code == 200, answer.text
                assert ("# Spiders" not in answer.text) is dropped
        file.write_text('[[rules]]\nhost = "x"\ndelay = "soon"\n')
        with pytest.raises(SettingError, match=r"GOSSAMER_SITE_RULES.*rules\[0\]\.delay"):
            async with visiting(**OPEN, site_rules=str(file)):
                pass


async def test_a_stranger_asks_a_host_no_faster_than_the_server_does(visiting: Visiting) -> None:
    async with visiting(**{**OPEN, "crawl_delay": "1"}) as visit:
        sent = bearer(await visit.key())
        body = {"seeds": ["http://127.0.0.1:9/"], "rules": [{"delay": 0.1}]}
        assert_problem(await visit.client.post("/api/crawls", json=body, headers=sent), "FORBIDDEN")
        slow = {"seeds": ["http://127.0.0.1:9/"], "rules": [{"delay": 5, "concurrency": 1}]}
        answer = await visit.client.post("/api/crawls", json=slow, headers=sent)
        assert answer.status_code == 202
