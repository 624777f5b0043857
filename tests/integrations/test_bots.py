"""What every integration does, whatever it is written in."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from gossamer.middleware.rules import ASSETS, PASSED_ON, ROBOTS
from tests.integrations.fronts import ORIGIN, OpenPlace, Place
from tests.integrations.servers import ETAG, LARGE, PAGE

FRESH = {"maxAge": 86_400, "staleWhileRevalidate": 604_800}
OF_THE_FRONT = {"vary", "x-served-by", "server", "date", "connection", "keep-alive", "transfer-encoding"}
ROBOT = (
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.3; +https://openai.com/gptbot)"
)
PERSON = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)


@pytest.fixture
def place(shared_place: Place) -> Place:
    shared_place.gossamer.asked.clear()
    return shared_place


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """It trusts nobody: to read whom the world trusts takes 30 ms, and nothing here speaks TLS."""
    agent = {"User-Agent": ROBOT}
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30, headers=agent) as client:
        yield client


def is_rendered(answer: httpx.Response) -> bool:
    return answer.headers.get("x-served-by") == "Gossamer" and "x-site" not in answer.headers


def is_sites(answer: httpx.Response) -> bool:
    return answer.headers.get("x-site") == "yes" and "x-served-by" not in answer.headers


async def test_a_robot_gets_the_rendered_page(place: Place, client: httpx.AsyncClient) -> None:
    target = "/caf%C3%A9/a%20b?b=2&a=%26&c=x+y"
    answer = await client.get(
        place.url + target, headers={"Cookie": "session=secret", "X-Forwarded-Host": "evil"}
    )
    assert is_rendered(answer)
    assert (answer.status_code, answer.text) == (200, PAGE)
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["etag"] == ETAG
    assert answer.headers["x-cache"] == "HIT"
    assert "User-Agent" in answer.headers["vary"]
    assert not answer.headers.keys() - PASSED_ON - OF_THE_FRONT
    [asked] = place.gossamer.asked
    assert (asked.method, asked.target) == ("POST", "/api/render")
    assert json.loads(asked.body) == {"url": ORIGIN + target, **FRESH}
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["user-agent"] == "Gossamer-Middleware"
    assert "GPTBot" in asked.headers["x-gossamer-robot"]  # so that the visit is counted
    assert "cookie" not in asked.headers


async def test_all_robots_do(place: Place, client: httpx.AsyncClient) -> None:
    spelt = itertools.cycle(("{}/1.0", "Mozilla/5.0 (compatible; {}/2.1; +https://bot.example)"))
    for token, form in zip(ROBOTS, spelt, strict=False):
        agent = form.format(token.lower() if "Mozilla" in form else token)
        assert is_rendered(await client.get(f"{place.url}/", headers={"User-Agent": agent})), agent


NOT_OURS: list[tuple[str, str, dict[str, str]]] = [
    ("GET", "/", {"User-Agent": PERSON}),
    ("GET", "/", {"User-Agent": ""}),
    ("POST", "/", {}),
    ("PUT", "/", {}),
    ("DELETE", "/", {}),
    ("OPTIONS", "/", {}),
    ("GET", "/", {"User-Agent": "Gossamer/0.1.0 (+https://gossamer.example) ChatGPT-User"}),
    ("GET", "/", {"X-Gossamer": "render"}),
    ("GET", "/", {"Authorization": "Basic YTpi"}),
    ("GET", "/robots.txt", {}),
    ("GET", "/sitemap.xml?page=2", {}),
    ("GET", "/a/b/App.JS", {}),
    ("GET", f"/search?q={'x' * 2_030}", {}),  # an address that Gossamer does not take
    ("GET", f"/{'x' * 2_030}", {}),
]


async def test_everybody_else_gets_the_site(place: Place, client: httpx.AsyncClient) -> None:
    for method, target, headers in NOT_OURS:
        answer = await client.request(method, place.url + target, headers=headers)
        assert is_sites(answer), (method, target, headers)
        assert answer.text == f"site: {method} {target}"
    assert place.gossamer.asked == []


async def test_assets_are_left_to_the_site_and_names_with_dots_are_not(
    place: Place, client: httpx.AsyncClient
) -> None:
    for extension in ASSETS:
        assert is_sites(await client.get(f"{place.url}/files/a.{extension}")), extension
    named = ("/", "/v1.2", "/index.html", "/a.js/b", "/page.php?file=a.js", "/a.css.html")
    for path in (*named, f"/search?q={'x' * 1_980}", f"/l'article?q={'x' * 600}"):
        assert is_rendered(await client.get(place.url + path)), path


async def test_what_gossamer_has_not_comes_from_the_site(place: Place, client: httpx.AsyncClient) -> None:
    for path in ("/missing", "/refused", "/json", "/not-found"):
        answer = await client.get(f"{place.url}{path}?q=1")
        assert is_sites(answer), path
        assert (answer.status_code, answer.text) == (200, f"site: GET {path}?q=1")
        assert "no-store" not in answer.headers.get("cache-control", "")
        assert (await client.head(place.url + path)).headers["x-site"] == "yes"
    assert len(place.gossamer.asked) == 8


async def test_what_goes_wrong_comes_from_the_site(open_place: OpenPlace, client: httpx.AsyncClient) -> None:
    place = await open_place()
    # What is not HTTP at all nginx takes for HTTP/0.9, and passes it on.
    faults = ["/failing", "/proxy-error"] + ["/garbage"] * (place.kind != "nginx")
    for path in faults:
        answer = await client.get(place.url + path)
        assert is_sites(answer)
        assert answer.text == f"site: GET {path}"


async def test_the_host_that_a_visitor_names_is_not_believed(place: Place, client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{place.url}/a", headers={"Host": "evil.example", "X-Forwarded-Proto": "http"})
    assert is_rendered(answer)
    assert [asked.url for asked in place.gossamer.asked] == [f"{ORIGIN}/a"]


async def test_caches_keep_robots_and_people_apart(place: Place, client: httpx.AsyncClient) -> None:
    """Whoever answers: a page of the site, too, is not what the next visitor would have got."""
    for agent, path in ((ROBOT, "/"), (ROBOT, "/missing"), (PERSON, "/"), (PERSON, "/a?b")):
        answer = await client.get(place.url + path, headers={"User-Agent": agent})
        assert "user-agent" in answer.headers["vary"].lower(), (agent, path)
    file = await client.get(f"{place.url}/a.css", headers={"User-Agent": PERSON})
    assert "user-agent" not in file.headers.get("vary", "").lower()


async def test_freshness_is_what_the_site_asks_for(open_place: OpenPlace, client: httpx.AsyncClient) -> None:
    place = await open_place(max_age=60, stale_while_revalidate=5)
    assert is_rendered(await client.get(f"{place.url}/"))
    asked = json.loads(place.gossamer.asked[0].body)
    assert asked == {"url": f"{ORIGIN}/", "maxAge": 60, "staleWhileRevalidate": 5}


async def test_a_first_robot_may_wait_for_the_page(open_place: OpenPlace, client: httpx.AsyncClient) -> None:
    place = await open_place(deadline=0.2, wait=60)
    visit = asyncio.create_task(client.get(f"{place.url}/held"))
    async with asyncio.timeout(30):
        while not place.gossamer.asked:
            await asyncio.sleep(0.01)
    done, _ = await asyncio.wait([visit], timeout=0.6)  # three times what Gossamer had without `wait`
    assert not done
    assert json.loads(place.gossamer.asked[0].body)["wait"] == 60
    place.gossamer.released.set()
    assert is_rendered(await visit)


async def test_paths_and_robots_are_the_sites_to_choose(
    open_place: OpenPlace, client: httpx.AsyncClient
) -> None:
    place = await open_place(exclude=("/admin",), bots=("MyRobot",))
    mine = {"User-Agent": "Mozilla/5.0 (compatible; myrobot/2)"}
    assert is_rendered(await client.get(f"{place.url}/shop", headers=mine))
    assert is_sites(await client.get(f"{place.url}/admin/users", headers=mine))
    assert is_sites(await client.get(f"{place.url}/shop"))


@pytest.mark.parametrize("path", ["/limited", "/failing"])
async def test_a_gossamer_that_refuses_is_left_alone_for_a_while(
    open_place: OpenPlace, client: httpx.AsyncClient, path: str
) -> None:
    place = await open_place()
    for _ in range(10):
        assert is_sites(await client.get(place.url + path))
    assert len(place.gossamer.asked) == 3
    assert is_sites(await client.get(f"{place.url}/"))


async def test_a_page_that_stops_in_the_middle_is_cut_off(
    open_place: OpenPlace, client: httpx.AsyncClient
) -> None:
    place = await open_place(deadline=0.5)
    with pytest.raises(httpx.TransportError):
        await client.get(f"{place.url}/stall", timeout=60)


async def test_a_page_has_a_status_of_its_own(place: Place, client: httpx.AsyncClient) -> None:
    gone = await client.get(f"{place.url}/gone")
    assert is_rendered(gone)
    assert (gone.status_code, gone.text) == (410, "<h1>Gone</h1>")
    moved = await client.get(f"{place.url}/moved?x=1")
    assert is_rendered(moved)
    assert (moved.status_code, moved.headers["location"]) == (301, f"{ORIGIN}/new")
    assert (await client.head(f"{place.url}/gone")).status_code == 410
    assert {asked.url for asked in place.gossamer.asked} == {f"{ORIGIN}/gone", f"{ORIGIN}/moved?x=1"}
    counted = [asked.url for asked in place.gossamer.asked if "x-gossamer-robot" in asked.headers]
    assert counted.count(f"{ORIGIN}/gone") == 2  # a visit counts once, also where nginx asks twice
    # A status that no page can have is none; nginx then leaves it to the site.
    odd = await client.get(f"{place.url}/odd")
    assert (odd.status_code, odd.text) in ((200, "odd"), (200, "site: GET /odd"))


async def test_what_a_robot_has_already_is_not_sent_again(place: Place, client: httpx.AsyncClient) -> None:
    same = await client.get(f"{place.url}/", headers={"If-None-Match": ETAG})
    assert is_rendered(same)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", ETAG)
    other = await client.get(f"{place.url}/", headers={"If-None-Match": '"old"'})
    assert (other.status_code, other.text) == (200, PAGE)


async def test_head_is_get_without_the_body(place: Place, client: httpx.AsyncClient) -> None:
    answer = await client.head(f"{place.url}/")
    assert is_rendered(answer)
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (200, b"", ETAG)
    assert (await client.get(f"{place.url}/")).text == PAGE


async def test_compressed_or_not_as_the_robot_likes_it(place: Place, client: httpx.AsyncClient) -> None:
    for accepted in ("gzip", "identity", "br;q=1.0, gzip;q=0.8", "gzip;q=0"):
        answer = await client.get(f"{place.url}/", headers={"Accept-Encoding": accepted})
        assert answer.text == PAGE
        assert answer.headers.get("content-encoding") in (
            ("gzip", None) if accepted != "gzip;q=0" else (None,)
        )


async def test_a_large_page_is_whole(place: Place, client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{place.url}/large")
    assert is_rendered(answer)
    assert answer.content == LARGE


async def test_a_part_never_looks_like_the_whole(place: Place, client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.TransportError):
        await client.get(f"{place.url}/cut")
    assert (await client.get(f"{place.url}/")).text == PAGE


async def test_a_target_cannot_say_more_than_an_address(place: Place) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(place.url.rpartition(":")[2]))
    target = '/a","url":"http://evil.example/","x":"\\'
    writer.write(
        f"GET {target} HTTP/1.1\r\nHost: a\r\nUser-Agent: GPTBot\r\nConnection: close\r\n\r\n".encode()
    )
    await reader.read()
    writer.close()
    await writer.wait_closed()
    for asked in place.gossamer.asked:
        members = [name for name, _ in json.loads(asked.body, object_pairs_hook=list)]
        assert members == ["url", "maxAge", "staleWhileRevalidate"]
        assert asked.url.startswith(f"{ORIGIN}/a")


async def test_a_gossamer_that_is_silent_costs_a_few_visits_a_deadline_and_the_others_nothing(
    open_place: OpenPlace, client: httpx.AsyncClient
) -> None:
    place = await open_place(deadline=0.3, pause=1)
    place.gossamer.silent = True
    for _ in range(3):
        assert is_sites(await client.get(f"{place.url}/"))
    assert len(place.gossamer.asked) <= 3
    first = asyncio.get_running_loop().time()
    answers = [await client.get(f"{place.url}/") for _ in range(20)]
    assert all(map(is_sites, answers))
    # One may have asked on behalf of all, for each pause that has passed in the meantime.
    pauses = asyncio.get_running_loop().time() - first
    assert len(place.gossamer.asked) <= 3 + 1 + pauses
    place.gossamer.silent = False
    async with asyncio.timeout(60):
        while not all([is_rendered(await client.get(f"{place.url}/")) for _ in range(2)]):
            await asyncio.sleep(0.1)


async def test_a_gossamer_that_is_gone(open_place: OpenPlace, client: httpx.AsyncClient) -> None:
    place = await open_place(pause=1)
    await place.gossamer.stop()
    for _ in range(10):
        assert is_sites(await client.get(f"{place.url}/"))
    await place.gossamer.start()
    async with asyncio.timeout(60):
        while not is_rendered(await client.get(f"{place.url}/")):
            await asyncio.sleep(0.1)


async def test_many_at_once(place: Place, client: httpx.AsyncClient) -> None:
    async def one(number: int) -> Any:
        agent = ROBOT if number % 2 else PERSON
        return await client.get(f"{place.url}/{number}", headers={"User-Agent": agent})

    answers = await asyncio.gather(*(one(number) for number in range(40)))
    assert [is_rendered(answer) for answer in answers] == [bool(number % 2) for number in range(40)]
    assert all(is_sites(answer) for answer in answers[::2])
