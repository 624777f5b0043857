"""The files by which agents find this server: llms.txt, and what stands below /.well-known/."""

import re
from typing import Any

import msgspec
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import PUBLIC_URL, Visit, Visiting

from gossamer import __version__
from gossamer.doors.http.docs.agent_files import AgentFiles


async def test_llms_txt_links_to_every_endpoint(visit: Visit) -> None:
    answer = await visit.client.get("/llms.txt")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text.startswith("# Gossamer\n\n> Self-hosted web access")
    document = (await visit.client.get("/openapi.json")).json()
    listed = set(re.findall(r"^- \[([A-Z]+ /[^\]]*)\]\(", answer.text, re.M))
    operations = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert listed == operations
    page = (await visit.client.get("/docs", headers={"Accept": "text/html"})).text
    anchors = set(re.findall(rf"\({re.escape(PUBLIC_URL)}/docs#(\w+)\)", answer.text))
    assert all(f'id="{anchor}"' in page for anchor in anchors)
    assert answer.text.count("\n## Optional\n") == 1
    again = await visit.client.get("/llms.txt", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


async def test_llms_full_txt_describes_them(visit: Visit) -> None:
    whole = (await visit.client.get("/llms-full.txt")).text
    part = whole[whole.index("### POST /map") :].partition("\n### ")[0]
    assert "- `limit` (integer; 1 to 50,000; default `1000`): The most links." in part
    assert "curl -X POST" in part
    assert "`INVALID_URL`" in part
    assert len(whole) < 1_000_000


async def test_the_api_catalog_is_a_linkset_of_addresses_that_answer(visit: Visit) -> None:
    answer = await visit.client.get("/.well-known/api-catalog")
    assert answer.headers["content-type"].startswith("application/linkset+json")
    assert answer.headers["access-control-allow-origin"] == "*"
    [links] = answer.json()["linkset"]
    assert links["anchor"] == f"{PUBLIC_URL}/"
    targets = [one["href"] for name, some in links.items() if name != "anchor" for one in some]
    for target in targets:
        assert (await visit.client.get(target.removeprefix(PUBLIC_URL))).status_code == 200, target


async def test_what_is_off_has_no_file(visiting: Visiting) -> None:
    async with visiting(mcp=False) as visit:
        for path in ("/.well-known/x402", "/.well-known/ai-catalog.json", "/mcp/server-card"):
            assert_problem(await visit.client.get(path), "NOT_FOUND")


async def test_the_card_and_the_catalog_lead_to_mcp(visit: Visit) -> None:
    [entry] = (await visit.client.get("/.well-known/ai-catalog.json")).json()["entries"]
    assert entry["url"] == f"{PUBLIC_URL}/mcp/server-card"
    card = (await visit.client.get("/mcp/server-card")).json()
    assert f"{PUBLIC_URL}/mcp" in str(card)
    assert (await visit.client.get("/mcp")).status_code == 405


async def test_origins_that_are_named_are_allowed_once(visiting: Visiting) -> None:
    async with visiting(cors_origins="https://a.example") as visit:
        for sent in ({"Origin": "https://a.example"}, {"Origin": "https://b.example"}, {}):
            answer = await visit.client.get("/llms.txt", headers=sent)
            assert len(answer.headers.get_list("access-control-allow-origin")) == 1


def files(public_url: str = PUBLIC_URL, *priced: str) -> AgentFiles:
    return AgentFiles(public_url, __version__, str, str, priced, True)


def read(page: Any) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.json.decode(page.body)
    return told


def test_an_mcp_server_has_a_card_that_its_catalog_names() -> None:
    card, catalog = read(files().server_card()), read(files().ai_catalog())
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"])
    assert card["name"] == "example.gossamer/gossamer"
    assert len(card["description"]) <= 100
    assert card["remotes"][0]["url"] == f"{PUBLIC_URL}/mcp"
    assert catalog["entries"][0]["url"] == f"{PUBLIC_URL}/mcp/server-card"
    assert catalog["entries"][0]["identifier"] == "urn:air:gossamer.example:gossamer"
    for url in ("http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:8080"):
        assert re.fullmatch(r"[a-zA-Z0-9.-]+/gossamer", read(files(url).server_card())["name"])


def test_what_can_be_paid_for_is_listed() -> None:
    told = read(files(PUBLIC_URL, "/fetch", "/map").x402())
    assert told["resources"] == [f"{PUBLIC_URL}/fetch", f"{PUBLIC_URL}/map"]
    assert (told["version"], told["x402Version"]) == (1, 2)
