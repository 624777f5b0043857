"""POST /api/crawls/preview."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.doors.crawls import NOT_SAID, OPEN, ROBOTS, get, page, post
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import Visit, Visiting, bearer
from tests.site.server import Site

from gossamer.flows.crawl.managing import preview
from gossamer.state.tenants.tenants import Role


@pytest.fixture
async def visit(database_url: str, visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(database_url=database_url, **OPEN) as opened:
        yield opened


async def previewed(visit: Visit, *seeds: str, **options: Any) -> list[dict[str, Any]]:
    answer = await post(visit, "/api/crawls/preview", {"seeds": list(seeds), **options})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["seeds"]
    return found


async def test_each_link_is_judged_by_the_scope_of_the_crawl(visit: Visit, site: Site) -> None:
    origin, other = site.origins(2)
    near, far, left_out = page("Near"), other + page("Far"), page("Left out")
    root = page("Root", near, far, left_out, near)
    (told,) = await previewed(visit, origin + root, exclude=[f"*{left_out}*"])
    assert (told["url"], told["robots"], told["statusCode"]) == (origin + root, "allowed", 200)
    assert (told["title"], told["error"], told["redirectsTo"]) == ("Root", None, None)
    judged = {link["url"]: (link["isIncluded"], link["reason"]) for link in told["links"]}
    assert judged == {
        origin + near: (True, None),
        far: (False, "other_host"),
        origin + left_out: (False, "excluded"),
    }
    assert (told["linksFound"], told["linksIncluded"]) == (3, 1)
    (shallow,) = await previewed(visit, origin + root, maxDepth=0)
    assert {link["reason"] for link in shallow["links"]} == {"too_deep"}
    (wide,) = await previewed(visit, origin + root, scope="any")
    assert wide["linksIncluded"] == 3
    assert not site.seen(near)  # only the seed was fetched
    assert (await get(visit, "/api/crawls"))["crawls"] == []
    assert (await get(visit, "/api/domains"))["domains"] == []


async def test_robots_are_obeyed(visit: Visit, site: Site) -> None:
    origin, silent = site.origins(2)
    secret, open_one = page("Secret"), page("Open")
    ROBOTS[origin.removeprefix("http://")] = f"User-agent: *\nDisallow: {secret}\n"
    ROBOTS[silent.removeprefix("http://")] = NOT_SAID
    told = await previewed(visit, origin + secret, origin + open_one, silent + open_one)
    assert [one["robots"] for one in told] == ["disallowed", "allowed", "unreachable"]
    assert [one["statusCode"] for one in told] == [None, 200, None]
    assert not site.seen(secret)


async def test_what_is_known_of_a_robots_file_is_not_asked_again(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    root = page("Root")

    def asked() -> int:
        host = origin.removeprefix("http://")
        return sum(request.origin == host for request in site.seen("/robots.txt"))

    await previewed(visit, origin + root)
    await previewed(visit, origin + root)
    assert (asked(), len(site.seen(root))) == (1, 2)


async def test_what_is_wrong_with_a_seed_is_a_value(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    good = origin + page("Good", "/a")
    told = await previewed(visit, "no URL", good, "http://169.254.169.254/", headers={"Cookie": "a=b"})
    assert [one["error"] and one["error"]["reason"] for one in told] == [
        "invalid_url_format",
        None,
        "hostname_blocked",
    ]
    assert told[1]["linksIncluded"] == 1
    assert all(one["error"]["message"] for one in told if one["error"])
    (refused,) = await previewed(visit, "http://127.0.0.1:9/")
    assert refused["error"] or refused["robots"] == "unreachable"


async def test_a_redirect_is_shown_and_not_followed(visit: Visit, site: Site) -> None:
    origin, other = site.origins(2)
    target = page("Target")
    away = say("", f"Location: {other}{target}", status="302 Found")
    (told,) = await previewed(visit, origin + away)
    assert (told["statusCode"], told["redirectsTo"]) == (302, other + target)
    assert told["links"] == [{"url": other + target, "isIncluded": False, "reason": "other_host"}]
    assert not site.seen(target)


async def test_no_more_than_three_seeds_and_fifty_links(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    many = page("Many", *(f"/{number}" for number in range(60)))
    seeds = [origin + many, *(origin + page(f"Seed {number}") for number in range(4))]
    told = await previewed(visit, *seeds)
    assert [one["url"] for one in told] == seeds[:3]
    assert (len(told[0]["links"]), told[0]["linksFound"], told[0]["linksIncluded"]) == (50, 60, 60)
    assert not site.seen(seeds[3].removeprefix(origin))


async def test_a_seed_that_never_answers_is_given_up(
    visit: Visit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "SEED_SECONDS", 0.5)
    silent = site.origins(1)[0] + say("", pause=3600)
    (told,) = await previewed(visit, silent)
    assert told["error"]["reason"] == "timeout"


async def test_the_same_is_refused_as_when_a_crawl_is_started(visiting: Visiting, site: Site) -> None:
    seed = site.origins(1)[0] + page("Root")
    async with visiting(**{**OPEN, "crawl_delay": "1"}) as visit:
        user = bearer(await visit.key(Role.USER))
        for body, code in (
            ({"seeds": []}, "VALIDATION_ERROR"),
            ({"seeds": [seed], "headers": {"Host": "example.com"}}, "VALIDATION_ERROR"),
            ({"seeds": [seed], "delay": 0.5}, "FORBIDDEN"),
        ):
            assert_problem(await post(visit, "/api/crawls/preview", body, user), code)
        assert_problem(await visit.client.post("/api/crawls/preview", json={"seeds": [seed]}), "UNAUTHORIZED")
        answer = await post(visit, "/api/crawls/preview", {"seeds": [seed]}, user)
        assert answer.headers["ratelimit-policy"].startswith('"user"')  # it fetches, so it is work
