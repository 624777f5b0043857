"""Every example runs as its docstring says, at a local site and a local server, and does what it promises."""

import ast
import asyncio
import json
import re
import sys
from pathlib import Path

import httpx
import pytest

from examples import docs_mirror, site_audit
from tests.clients import clients_python
from tests.doors.crawls import PROSE, Web, page
from tests.doors.fetches import say
from tests.doors.mcp.ground import Ground
from tests.examples.conversation import conversing
from tests.examples.ground import EXAMPLES, run_example
from tests.pay.payers import Income
from tests.pay.shops import BASIC
from tests.programs import run, started
from tests.servers.chains import wallets
from tests.servers.chains.fixtures import PAYER, Chains
from tests.servers.daemon import free_port
from tests.site.paths import HTML, path
from tests.site.server import Reply, Request, Site

PROGRAMS = sorted(file for file in EXAMPLES.rglob("*.py") if file.name != "__init__.py")
PNG = b"\x89PNG\r\n\x1a\n"
ROBOT = {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"}
LOGIN = """<!doctype html><title>Sign in</title><form onsubmit="enter(event)"><input name=user>
<input name=password type=password><button type=submit>Sign in</button></form><script>
function enter(event) {
  event.preventDefault();
  const [user, password] = event.target.elements;
  document.cookie = "session=" + user.value + "-" + password.value + "; path=/members";
  location = "/members/home";
}</script>"""


@path("members")
async def members(site: Site, request: Request, reply: Reply) -> None:
    """/members/login signs in; everything else wants its cookie."""
    if request.path == "/members/login":
        await reply.send(LOGIN.encode(), HTML)
    elif request.header("cookie") == "session=ada-secret":
        name = request.path.split("/")[2]
        await reply.send(f"<title>My {name}</title><h1 id=welcome>{name}</h1><p>{PROSE}</p>".encode(), HTML)
    else:
        await reply.send(b"<title>No</title><p>Sign in first.</p>", HTML, status="403 Forbidden")


def product(price: str) -> str:
    data = {"@type": "Product", "name": "Silk rope", "offers": {"price": price, "priceCurrency": "USD"}}
    return say(
        f'<title>Silk rope</title><script type="application/ld+json">{json.dumps(data)}</script>'
        f"<h1>Silk rope</h1><p>{PROSE}</p>"
    )


async def test_research_agent(there: dict[str, str], ground: Ground) -> None:
    url = ground.page()
    call = {"type": "tool_use", "id": "call_1", "name": "fetch", "input": {"url": url, "render": "never"}}
    wrong = {"type": "tool_use", "id": "call_2", "name": "fetch", "input": {"url": "ftp://no"}}
    answer = {"type": "text", "text": f"It is worth it. Source: {url}"}
    async with conversing([call, wrong], [answer]) as model:
        model_of = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-test"}
        ended = await run_example({**there, **model_of}, "research_agent.py", "Is it worth it?")
    assert (ended.code, ended.said) == (0, f"It is worth it. Source: {url}\n"), ended.errors
    assert {tool["name"] for tool in model.asked[0]["tools"]} == {"fetch", "search", "map", "extract"}
    read, refused = model.asked[1]["messages"][-1]["content"]
    assert "Worth it" in read["content"]
    assert (read["is_error"], refused["is_error"]) == (False, True)


async def test_site_rag(there: dict[str, str], site: Site) -> None:
    [origin] = site.origins(1)
    answer = say(f"<title>Rotation</title><h1>Rotation</h1><p>{PROSE}</p><p>Zimtschnecken rotate yearly.</p>")
    start, question = origin + page("Start", answer), "When do Zimtschnecken rotate?"
    ended = await run_example(there, "site_rag.py", start, question)
    assert ended.code == 0, ended.errors
    assert "2 pages crawled" in ended.errors
    assert ended.said.startswith(f"[1] Rotation\n    {origin}{answer}\n\n")
    assert "Zimtschnecken rotate yearly." in ended.said


async def test_price_monitor(here: dict[str, str], tmp_path: Path, site: Site) -> None:
    known, rope, net = tmp_path / "prices.json", site.url(product("11.00")), site.url(product("80"))
    priceless = site.url(page("Not for sale"))
    known.write_text(json.dumps({rope: {"name": "Silk rope", "price": 12.5, "currency": "USD"}}))
    ended = await run_example(here, "price_monitor.py", known, rope, priceless, net)
    assert ended.said == "Silk rope: price 12.5 → 11.0\nSilk rope: new, 80 USD\n"
    assert (ended.code, ended.errors) == (1, f"{priceless}: NO_PRICE: There is no price on the page (ok).\n")
    assert {url: data["price"] for url, data in json.loads(known.read_text()).items()} == {rope: 11, net: 80}


async def test_docs_mirror(there: dict[str, str], tmp_path: Path, site: Site) -> None:
    web = Web.on(site.origins(1)[0])
    folder = tmp_path / "mirror"
    first = await run_example(there, "docs_mirror.py", web.seed, folder)
    assert (first.code, first.said) == (0, "3 pages, 3 files written, 0 pages not read\n"), first.errors
    written = {file.read_text() for file in folder.rglob("*.md")}
    assert {re.findall(r"<!-- (.+) -->", text)[0] for text in written} == web.urls
    assert any("# A leaf" in text for text in written)
    again = await run_example(there, "docs_mirror.py", web.seed, folder)
    assert again.said == "3 pages, 0 files written, 0 pages not read\n"


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("/", "index.md"),
        ("/index.html", "index.html.md"),
        ("/a/b", "a/b.md"),
        ("/a/b/", "a/b/index.md"),
        ("/a?page=2&x=../..", "a-page-2-x.md"),
        ("/%2e%2e/%2e%2e/etc/passwd", "etc/passwd.md"),
        ("/..%2f..%5cetc", "etc.md"),
        ("", "index.md"),
    ],
)
def test_docs_mirror_stays_in_its_folder(path: str, file: str) -> None:
    assert docs_mirror.file_name(f"https://docs.example.com{path}") == Path(file)


async def test_paid_agent(there: dict[str, str], ground: Ground, chains: Chains) -> None:
    income = Income(chains)
    pages, gone = [ground.page() for _ in range(3)], "http://127.0.0.1:9/"
    buyer = {**there, "WALLET_KEY": f"0x{wallets.evm(PAYER).key.hex().removeprefix('0x')}"}
    budget = 2 * BASIC / 1_000_000
    ended = await run_example(buyer, "paid_agent.py", "--budget", str(budget), gone, *pages)
    assert re.findall(r"(?m)^\$\S+ Worth it", ended.said) == ["$0.0050 Worth it"] * 2, ended.errors
    assert ended.said.endswith("$0.0100 spent of $0.0100\n")
    assert "SPENDING_LIMIT_REACHED" in ended.errors
    assert "FETCH_FAILED" in ended.errors
    assert (ended.code, income.taken()) == (1, 2 * BASIC)


async def test_scrapy_project(there: dict[str, str], tmp_path: Path, site: Site) -> None:
    made = (
        "<h1></h1><p class=price></p><script>document.querySelector('h1').textContent = 'Silk net';"
        f"document.querySelector('.price').textContent = '$80';</script><p>{PROSE}</p>"
    )
    net = say(f"<!doctype html><title>Net</title>{made}")
    shop = site.url(say(f'<title>Shop</title><a class="product" href="{net}">Net</a><a href="/no">No</a>'))
    file = tmp_path / "products.jsonl"
    command = (clients_python(), "-m", "scrapy", "crawl", "products", "-a", f"start={shop}", "-O", file)
    ended = await run({**there, "SHOP_DELAY": "0"}, *command, folder=EXAMPLES / "scrapy_project")
    assert (ended.code, ended.errors) == (0, "")
    assert json.loads(file.read_text()) == {"url": site.url(net), "name": "Silk net", "price": "$80"}


async def test_prerendered_app(there: dict[str, str]) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = (sys.executable, EXAMPLES / "prerendered_app.py", str(port), address)
    async with started(there, *command) as app, httpx.AsyncClient(timeout=60, trust_env=False) as client:
        assert app.stderr is not None
        while b"Uvicorn running" not in (line := await app.stderr.readline()):
            assert line, "it has ended"
        person = await client.get(f"{address}/products/rope")
        robot = await client.get(f"{address}/products/rope", headers=ROBOT)
    assert "<h1>" not in person.text
    assert "<h1>Silk rope</h1>" in robot.text
    assert "It costs $12." in robot.text
    assert robot.headers["x-served-by"] == "Gossamer"


async def test_site_audit(here: dict[str, str], site: Site) -> None:
    hidden = site.url(say(f'<title>Hidden</title><meta name="robots" content="noindex"><p>{PROSE}</p>'))
    ended = await run_example(here, "site_audit.py", hidden, "--fail-on", "serious")
    assert (ended.code, ended.errors) == (1, "")
    assert re.search(r"(?m)^FAIL (critical|serious) ", ended.said)
    assert re.search(r"(?m)^warn (moderate|minor) .*\n(     .+\n)*     Fix: ", ended.said)
    assert re.search(r"score \d+ of 100, [1-9] findings that fail the build", ended.said)


async def test_site_audit_accepts_a_good_page(
    here: dict[str, str], site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which has loaded the engine already."""
    for name, value in here.items():
        monkeypatch.setenv(name, value)
    url = site.url(page("Start"))
    assert await asyncio.to_thread(site_audit.main, url, 0, 10, "critical") == 0
    assert "0 findings that fail the build" in capsys.readouterr().out
    assert await asyncio.to_thread(site_audit.main, url, 0, 100, "critical") == 1


async def test_members_report(there: dict[str, str], tmp_path: Path, site: Site) -> None:
    login, orders = site.url("/members/login"), site.url("/members/orders")
    somebody = {**there, "SITE_USER": "ada", "SITE_PASSWORD": "secret"}
    folder = tmp_path / "report"
    ended = await run_example(somebody, "members_report.py", folder, login, orders)
    assert ended.code == 0, ended.said + ended.errors
    assert ended.said.startswith("signed in: home, 1 cookies\nok 200 1280×")  # noqa: RUF001
    assert (folder / "001.png").read_bytes().startswith(PNG)
    assert "<h2>orders</h2>" in (folder / "index.html").read_text()
    wrong = await run_example({**somebody, "SITE_USER": "eve"}, "members_report.py", folder, login, orders)
    assert (wrong.code, wrong.said) == (1, "")
    assert "ACTION_FAILED" in wrong.errors


async def test_firecrawl_program(there: dict[str, str], site: Site) -> None:
    web = Web.on(site.origins(1)[0])
    ended = await run_example(there, "firecrawl_program.py", web.seed, python=clients_python())
    assert ended.code == 0, ended.errors
    first, data, *lines = ended.said.splitlines()
    assert (first, ast.literal_eval(data)["title"]) == ("# The root", "The root")
    assert {line.split()[1] for line in lines if line.startswith("page")} == web.urls


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda file: file.name)
def test_they_are_short_and_explained(program: Path) -> None:
    text = program.read_text()
    assert len(text.splitlines()) <= 80
    assert ast.get_docstring(ast.parse(text))


def test_the_readme_names_each() -> None:
    named = set(re.findall(r"\]\(([\w./]+)\)", (EXAMPLES / "README.md").read_text()))
    there = {entry.name for entry in EXAMPLES.iterdir() if not entry.name.startswith(("README", "__"))}
    assert {name if "." in name else f"{name}/shop/__init__.py" for name in there} <= named
