"""The pages for people: complete, linked, safe, and pleasant to machines that keep copies."""

import json
import re
import shlex
from functools import cache, cached_property
from html import escape, unescape
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from typing import Annotated, Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doors.services import PUBLIC_URL, Visit, Visiting

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.docs.markup import breakable, highlight, prose
from gossamer.doors.http.docs.page import prefers_json
from gossamer.doors.http.docs.pages import DocsEndpoints
from gossamer.doors.http.docs.reference import Reference
from gossamer.problems import KINDS, MEDIA_TYPE, ProblemKind
from gossamer.settings.settings import Settings
from gossamer.state.tenants.limits import Policy
from gossamer.state.tenants.tenants import Role

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PROGRAM = {"Accept": "application/json"}
HTML_PAGES = ["/", "/docs", "/problems", *(f"/problems/{name}" for name in KINDS)]
_EMPTY = frozenset({"meta", "link", "br", "wbr", "path", "circle"})


class Reader(HTMLParser):
    """What a browser would find in a page; an element that is not closed properly is an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.code: list[str] = []  # the blocks of it
        self._pieces: list[str] = []  # of text
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open
        self.text = "".join(self._pieces)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "pre":
            self.code.append("")
        if tag not in _EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag in ("th", "td", "dt", "dd"):
            self._pieces.append(" ")

    def handle_data(self, data: str) -> None:
        self._pieces.append(data)
        if "pre" in self._open:
            self.code[-1] += data

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]

    @cached_property
    def attributes(self) -> list[str]:
        return [name for _, attributes in self.elements for name in attributes]

    @cached_property
    def words(self) -> str:
        return " ".join(self.text.split())


async def read(client: httpx.AsyncClient, path: str) -> Reader:
    answer = await client.get(path, headers=BROWSER)
    assert answer.status_code == 200, path
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return parse(answer.text)


@cache
def parse(page: str) -> Reader:
    """The reference is a megabyte, and most tests look at it."""
    return Reader(page)


def plain(text: str) -> str:
    return text.replace("`", "")


async def test_fr024_a_problem_page_tells_everything(visit: Visit) -> None:
    for kind in KINDS.values():
        tells_everything(await read(visit.client, f"/problems/{kind.name}"), kind)


def tells_everything(page: Reader, kind: ProblemKind) -> None:
    for part in (kind.title, kind.code, kind.name, str(kind.status), kind.when, *kind.causes, *kind.fixes):
        assert plain(part) in page.words
    assert ("May help" in page.words) == kind.retry
    example = json.loads(page.code[0])
    assert example["type"] == f"{PUBLIC_URL}/problems/{kind.name}"
    assert example["code"] == kind.code


async def test_fr026_a_problem_page_leads_back(visit: Visit) -> None:
    for name in KINDS:
        links = (await read(visit.client, f"/problems/{name}")).values("href")
        assert {"/docs", "/problems"} <= set(links), name


async def test_fr025_the_pages_are_open_to_all_even_with_a_bad_key(visit: Visit) -> None:
    for path in HTML_PAGES:
        answer = await visit.client.get(path, headers={**BROWSER, "Authorization": "Bearer nonsense"})
        assert answer.status_code == 200, path


async def test_fr023_the_index_lists_every_problem(visit: Visit) -> None:
    page = await read(visit.client, "/problems")
    for kind in KINDS.values():
        assert kind.title in page.words
        assert f"/problems/{kind.name}" in page.values("href")


async def test_next_and_previous_walk_through_all_problems(visit: Visit) -> None:
    walked = ["/problems/validation-error"]
    while following := re.search(r'rel="next" href="([^"]+)"', (await visit.client.get(walked[-1])).text):
        assert f'rel="prev" href="{walked[-1]}"' in (await visit.client.get(following[1])).text
        walked.append(following[1])
    assert sorted(walked) == sorted(f"/problems/{name}" for name in KINDS)


async def test_a_problem_names_the_endpoints_that_answer_it(visit: Visit) -> None:
    conflict = await read(visit.client, "/problems/idempotency-key-conflict")
    assert "/docs#createKey" in conflict.values("href")
    assert "Every endpoint can return it" in (await read(visit.client, "/problems/internal-error")).words
    assert "Any address" in (await read(visit.client, "/problems/method-not-allowed")).words


async def test_a_problem_as_json(visit: Visit) -> None:
    answer = await visit.client.get("/problems/rate-limit-exceeded", headers=PROGRAM)
    assert answer.headers["content-type"] == "application/json"
    row = answer.json()
    assert row["type"] == f"{PUBLIC_URL}/problems/rate-limit-exceeded"
    assert (row["code"], row["status"], row["retry"]) == ("RATE_LIMITED", 429, True)
    assert row["example"]["retryAfter"] == 1740
    index = (await visit.client.get("/problems", headers=PROGRAM)).json()
    assert {one["name"] for one in index["problems"]} == set(KINDS)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("validation-eror", "validation-error"),
        ("rate-limited", "rate-limit-exceeded"),
        ("RATE_LIMITED", "rate-limit-exceeded"),
        ("Not-Found", "not-found"),
    ],
)
async def test_an_unknown_problem_names_the_closest(visit: Visit, name: str, meant: str) -> None:
    answer = await visit.client.get(f"/problems/{name}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert answer.json()["hint"] == f"Did you mean /problems/{meant}?"


@pytest.mark.parametrize("name", ["zzzzzzzz", "<script>alert(1)<!--", "%00", "a" * 4000, "..%2fetc"])
async def test_an_unknown_problem_is_a_problem(visit: Visit, name: str) -> None:
    answer = await visit.client.get(f"/problems/{name}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert answer.json()["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("accept", "json_wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/html", False),
        ("application/json", True),
        ("Application/JSON", True),
        ("application/*", True),
        ("text/html, application/json", False),
        ("text/html;q=0.5, application/json", True),
        ("application/json;q=0.5, text/html;q=0.9", False),
        ("application/json, */*;q=0.1", True),
        ("text/*;q=0.2, application/json;q=0.3", True),
        ("application/json;q=0, */*", False),
        ("application/json;q=high", False),
        (BROWSER["Accept"], False),
    ],
)
def test_rfc9110_accept(accept: str, json_wanted: bool) -> None:
    assert prefers_json(accept) is json_wanted


async def test_the_documentation_shows_every_endpoint(visit: Visit) -> None:
    page = await read(visit.client, "/docs")
    document = (await visit.client.get("/openapi.json")).json()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert f"{method.upper()} {path}" in page.words
            assert operation["summary"] in page.words
            assert operation["operationId"] in page.values("id")


async def test_the_documentation_shows_the_limits_in_force(visiting: Visiting) -> None:
    async with visiting(limit_user="7/60", limit_renders_free="12345/86400", limit_wallet="3/90") as visit:
        words = (await read(visit.client, "/docs")).words
    assert "user 7 per minute API key" in words
    assert "renders-free 12,345 per day tenant" in words
    assert "wallet 3 per 90 seconds wallet" in words


async def test_links_lead_somewhere(visit: Visit) -> None:
    anchors: dict[str, list[str]] = {}
    for path in HTML_PAGES:
        page = await read(visit.client, path)
        anchors[path] = page.values("id")
        assert len(set(anchors[path])) == len(anchors[path]), path
        assert all(name in anchors[path] for name in page.values("aria-labelledby"))
    for path in HTML_PAGES:
        for link in (await read(visit.client, path)).values("href"):
            target, _, anchor = link.partition("#")
            if anchor:
                assert anchor in anchors[target or path], link
            elif target not in anchors:
                assert (await visit.client.get(target, follow_redirects=True)).status_code == 200, link


async def test_pages_need_nothing_but_themselves(visit: Visit) -> None:
    for path in HTML_PAGES:
        answer = await visit.client.get(path, headers=BROWSER)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        needs_nothing_else(Reader(answer.text))


def needs_nothing_else(page: Reader) -> None:
    assert not {tag for tag, _ in page.elements} & {"script", "style", "iframe", "form", "object", "img"}
    assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
    assert all(link.startswith(("/", "#")) for link in page.values("href"))


async def test_pages_can_be_walked_without_sight_or_mouse(visit: Visit) -> None:
    for path in HTML_PAGES:
        can_be_walked(await read(visit.client, path))


def can_be_walked(page: Reader) -> None:
    tags = [tag for tag, _ in page.elements]
    assert (tags.count("h1"), tags.count("main")) == (1, 1)
    assert ("html", {"lang": "en"}) in page.elements
    assert next(attributes for tag, attributes in page.elements if tag == "a")["href"] == "#content"
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    scrolled = [attributes for tag, attributes in page.elements if tag == "pre"]
    assert all(attributes["tabindex"] == "0" for attributes in scrolled)


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/openapi.json", "/problems", "/problems/forbidden", "/favicon.svg"]
)
async def test_a_page_that_is_still_known_is_not_sent_again(visit: Visit, path: str) -> None:
    first = await visit.client.get(path, headers=BROWSER)
    etag = first.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = await visit.client.get(path, headers={**BROWSER, "If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
        assert "content-type" not in again.headers
        assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    changed = await visit.client.get(path, headers={**BROWSER, "If-None-Match": '"other"'})
    assert changed.content == first.content
    assert "max-age=300" in first.headers["cache-control"]


async def test_html_and_json_do_not_share_an_etag(visit: Visit) -> None:
    page = await visit.client.get("/problems/forbidden", headers=BROWSER)
    row = await visit.client.get("/problems/forbidden", headers=PROGRAM)
    assert page.headers["etag"] != row.headers["etag"]
    assert page.headers["vary"] == row.headers["vary"] == "Accept"


async def test_the_style_sheet_may_be_kept_forever(visit: Visit) -> None:
    link = next(
        a["href"] for t, a in (await read(visit.client, "/docs")).elements if a.get("rel") == "stylesheet"
    )
    sheet = await visit.client.get(link)
    assert sheet.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in sheet.headers["cache-control"]
    assert "url(" not in sheet.text
    assert "@import" not in sheet.text
    other = await visit.client.get("/assets/pages.000000000000.css")
    assert (other.status_code, other.json()["code"]) == (404, "NOT_FOUND")


async def test_the_start_page(visit: Visit) -> None:
    page = await read(visit.client, "/")
    assert {"/docs", "/health", "/problems", "/openapi.json"} <= set(page.values("href"))
    assert "gossamer keys create" in page.words
    links = (await visit.client.get("/", headers=PROGRAM)).json()
    assert links["documentation"] == f"{PUBLIC_URL}/docs"
    assert links["health"] == f"{PUBLIC_URL}/health"


async def test_the_mark_and_robots(visit: Visit) -> None:
    mark = await visit.client.get("/favicon.svg")
    assert mark.headers["content-type"] == "image/svg+xml"
    moved = await visit.client.get("/favicon.ico")
    assert (moved.status_code, moved.headers["location"]) == (308, "/favicon.svg")
    robots = (await visit.client.get("/robots.txt")).text.splitlines()
    assert robots[0] == "User-agent: *"
    assert {"Allow: /docs", "Allow: /problems", "Disallow: /"} <= set(robots)


async def test_pages_carry_the_limit_headers_but_are_not_counted(visiting: Visiting) -> None:
    async with visiting(limit_anonymous_read="2/60") as visit:
        answers = [await visit.client.get(path, headers=BROWSER) for path in HTML_PAGES]
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.headers["x-ratelimit-remaining"] for answer in answers} == {"2"}


# Rendering, without a server.

HOSTILE = "<script>alert('`1`')</script>\"><img src=x onerror=alert(1)>{{ 7*7 }}&amp;"


class Box(msgspec.Struct):
    """A box."""

    size: Annotated[int, msgspec.Meta(ge=1, le=9, description="How big.")] = 3
    inside: "Box | None" = None


class Order(msgspec.Struct):
    """What is wanted."""

    box: Box
    notes: Annotated[list[str], msgspec.Meta(max_length=4, description=HOSTILE)]
    by_room: dict[str, Box] = {}


class Shop:
    async def buy(self, exchange: Exchange, item: str, body: Order) -> Order:
        return body

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/shop/{item}",
                handler=self.buy,
                needs=Role.USER,
                tag=HOSTILE,
                summary=HOSTILE,
                description=HOSTILE,
                parameters={"item": HOSTILE},
                example_body=Order(Box(inside=Box()), [HOSTILE, "it's"], {}),
                example=Order(Box(), [HOSTILE], {HOSTILE: Box()}),
            )
        ]


def shop_pages(public_url: str = PUBLIC_URL) -> DocsEndpoints:
    rate = Settings.load({}).limit_user
    return DocsEndpoints(
        public_url, Shop().routes(), {HOSTILE: Policy(HOSTILE, rate, HOSTILE)}, version=HOSTILE
    )


async def render(pages: DocsEndpoints, path: str) -> str:
    handler = next(route.handler for route in pages.routes() if route.path == path)
    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    answer = await handler(Exchange(scope, no_body, 0))
    return bytes(answer.body).decode()


async def no_body() -> dict[str, Any]:
    return {"type": "http.request", "body": b""}


@pytest.mark.parametrize("path", ["/", "/docs", "/problems"])
async def test_hostile_text_stays_text(path: str) -> None:
    page = Reader(await render(shop_pages(f"https://example.com/{HOSTILE}"), path))
    assert not {tag for tag, _ in page.elements} & {"script", "img"}
    assert not [name for name in page.attributes if name.startswith("on")]
    assert plain(HOSTILE) in plain(page.text)


async def test_the_curl_example_is_a_command_line_that_sends_the_example_body() -> None:
    pages = shop_pages()
    command = Reference(pages.document).endpoints[0].curl
    words = shlex.split(command.replace("\\\n", ""))
    assert words[:4] == ["curl", "-X", "POST", f"{PUBLIC_URL}/shop/ITEM"]
    assert "Authorization: Bearer $GOSSAMER_KEY" in words
    body = pages.document["paths"]["/shop/{item}"]["post"]["requestBody"]["content"]["application/json"]
    assert json.loads(words[words.index("-d") + 1]) == body["example"]


def test_fields_are_read_out_of_the_schema() -> None:
    endpoint = Reference(shop_pages().document).endpoints[0]
    fields = {field.name: field for field in endpoint.body}
    assert list(fields) == [
        "box", "box.size", "box.inside", "notes", "by_room", "by_room.*.size", "by_room.*.inside",
    ]  # fmt: skip
    size = fields["box.size"]
    assert (size.type, size.required, size.default, size.limits) == ("integer", False, "3", ("1 to 9",))
    assert size.description == "How big."
    assert fields["box"].required
    assert fields["box.inside"].type == "object or null"
    assert (fields["notes"].type, fields["notes"].limits) == ("array of string", ("at most 4 items",))
    assert fields["by_room"].type == "map of object"


def tags_removed(markup: str) -> str:
    return unescape(re.sub(r"</?(?:span|code|wbr)[^>]*>", "", markup))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_coloured_json_is_the_same_json(value: object) -> None:
    assert tags_removed(highlight(value)) == json.dumps(value, indent=2, ensure_ascii=False)


@given(st.text())
def test_prose_and_paths_add_tags_to_escaped_text_and_nothing_else(text: str) -> None:
    assert plain(tags_removed(prose(text))) == plain(text)
    assert tags_removed(breakable(text)) == text
    allowed = re.sub(r"</?code>|<wbr>", "", prose(text) + breakable(text))
    assert "<" not in allowed


def test_colours_tell_the_kinds_of_tokens_apart() -> None:
    assert highlight({"a": ["b", 1.5, None]}).count("<span") == 4
    assert '<span class="key">&#34;a&#34;</span>' in highlight({"a": 1})
    assert escape("<") in highlight("<")


# The style sheet.


def palettes() -> list[dict[str, str]]:
    sheet = resources.files("gossamer.doors.http").joinpath("templates", "pages.css").read_text()
    light, dark, _print = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in (light, dark)]


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "wash"])
@pytest.mark.parametrize("ink", ["ink", "soft", "thread", "blue", "amber", "red", "violet"])
def test_wcag_aa_contrast(palette: dict[str, str], ground: str, ink: str) -> None:
    lighter, darker = sorted((luminance(palette[ground]), luminance(palette[ink])), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


async def test_what_is_not_there_is_a_page_for_browsers(visit: Visit) -> None:
    answer = await visit.client.get("/doc<b>", headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert answer.headers["x-request-id"] in answer.text
    assert '<a href="/docs"><code>' in answer.text
    assert "<b>" not in answer.text
    assert "style-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/html;q=0.5", ""])
async def test_what_is_not_there_is_a_problem_for_programs(visit: Visit, accept: str) -> None:
    answer = await visit.client.get("/nowhere", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.headers["vary"] == "Accept"
    posted = await visit.client.post("/nowhere", headers=BROWSER)
    assert posted.headers["content-type"] == "application/problem+json"
