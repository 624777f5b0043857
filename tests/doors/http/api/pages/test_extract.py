"""`POST /extract`: a URL and a schema in, data with its sources out."""

from collections.abc import AsyncIterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doors.fetches import Fetching, OpenFetching, fetching, open_fetching, say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import bearer
from tests.servers.chat_api import chat_api
from tests.servers.messages_api import KEY, MODEL, MessagesApi, messages_api
from tests.servers.model_server import Cut, found
from tests.web.content.extraction_pages import DATE, FLAG, LINK, NUMBER, TEXT, ld, listed, things

__all__ = ["fetching", "open_fetching"]

ROPE = f"""<html lang="en"><title>Silk rope | Shop</title><meta property="og:image" content="/rope.jpg">
{ld({"@type": "Product", "name": "Silk rope", "offers": {"@type": "Offer", "price": "1299.00"}})}
<h1>Silk rope</h1><dl><dt>Made by<dd>Arachne</dl><i class="colour">white</i><i class="colour">grey</i>
<p>Plain words about the rope, so that there is something to read on this page, and a little more.</p>"""
SCHEMA = {
    **things(
        name=TEXT, price=NUMBER, image=LINK, colours=listed(TEXT, **{"x-selector": ".colour"}), warranty=TEXT
    ),
    "required": ["name", "price"],
}


async def asked(fetching: Fetching, body: str = ROPE, **wanted: Any) -> dict[str, Any]:
    return await fetching.answer(say(body), path="/extract", **wanted)


async def test_data_holds_to_the_schema_and_says_where_it_is_from(fetching: Fetching) -> None:
    answer = await asked(fetching, schema=SCHEMA)
    assert answer["data"] == {
        "name": "Silk rope",
        "price": 1299.0,
        "image": fetching.site.url("/rope.jpg"),
        "colours": ["white", "grey"],
    }
    jsonschema.validate(answer["data"], SCHEMA)
    assert answer["sources"]["/price"] == {
        "kind": "json-ld",
        "path": "script[1].offers.price",
        "text": "1299.00",
    }
    assert answer["sources"]["/colours/1"]["kind"] == "selector"
    assert (answer["missing"], answer["valid"], answer["outcome"]) == (["/warranty"], True, "ok")
    assert (answer["tier"], answer["statusCode"]) == ("basic", 200)
    assert "model" not in answer
    assert answer["requestId"].startswith("wl_")


async def test_fields_are_the_short_way(fetching: Fetching) -> None:
    named = await asked(fetching, fields=["name", "madeBy", "warranty"])
    assert named["data"] == {"name": "Silk rope", "madeBy": "Arachne"}
    typed = await asked(fetching, fields={"price": "number", "x": "The name of the product"})
    assert typed["data"] == {"price": 1299.0, "x": "Silk rope"}


REFUSED: dict[str, tuple[dict[str, Any], str, Any]] = {
    "nothing": ({}, "VALIDATION_ERROR", None),
    "both": ({"schema": SCHEMA, "fields": ["a"]}, "UNPROCESSABLE_ENTITY", "schema_and_fields"),
    "no schema": ({"schema": {"type": "strin"}}, "UNPROCESSABLE_ENTITY", "invalid_schema"),
    "schema of no object": ({"schema": "object"}, "VALIDATION_ERROR", None),
    "no fields": ({"fields": []}, "VALIDATION_ERROR", None),
    "instructions alone": ({"instructions": "Find it."}, "UNPROCESSABLE_ENTITY", "no_model"),
    "selector": ({"schema": things(a={"x-selector": "a["})}, "INVALID_SELECTOR", None),
    "lifetime": ({"fields": ["a"], "cacheTtl": "long"}, "INVALID_TTL", None),
    "header": ({"fields": ["a"], "headers": {"Host": "x"}}, "VALIDATION_ERROR", None),
    "way": ({"fields": ["a"], "render": "perhaps"}, "VALIDATION_ERROR", None),
    "misspelt": ({"fields": ["a"], "shema": {}}, "VALIDATION_ERROR", None),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused(fetching: Fetching, name: str) -> None:
    body, code, reason = REFUSED[name]
    target = say(ROPE)
    response = await fetching.post(target, path="/extract", **body)
    assert_problem(response, code)
    assert response.json().get("details", {}).get("reason") == reason
    assert fetching.visits(target) == 0


async def test_an_invalid_schema_is_422_with_the_place(fetching: Fetching) -> None:
    response = await fetching.post(path="/extract", schema=things(price={"type": "nmber"}))
    assert_problem(response, "UNPROCESSABLE_ENTITY")
    assert response.json()["details"]["path"] == "/properties/price/type"


@pytest.mark.parametrize("url", ["http://localhost/", "http://127.0.0.9/", "file:///etc/passwd"])
async def test_addresses_that_must_not_be_touched(fetching: Fetching, url: str) -> None:
    assert_problem(await fetching.post(url, path="/extract", fields=["a"]), "INVALID_URL")


async def test_it_needs_a_key(fetching: Fetching) -> None:
    response = await fetching.post(path="/extract", fields=["a"], sent=bearer("sk_live_nobody"))
    assert_problem(response, "UNAUTHORIZED")


async def test_the_cache_takes_part_when_asked(fetching: Fetching) -> None:
    target = say(ROPE)
    for status in ("MISS", "HIT"):
        response = await fetching.post(target, path="/extract", fields=["name"], cache=True)
        assert response.headers["x-cache-status"] == status
        assert response.json()["cache"]["key"].startswith("weblens:extract:")
    plain = await fetching.post(target, path="/extract", fields=["name"])
    assert plain.headers["x-cache-status"] == "BYPASS"
    assert fetching.visits(target) == 2


async def test_a_page_that_is_not_there_is_told_and_has_no_data(fetching: Fetching) -> None:
    answer = await fetching.answer("/missing", path="/extract", schema=SCHEMA)
    assert (answer["statusCode"], answer["outcome"], answer["data"]) == (404, "error", {})
    assert (answer["missing"][:2], answer["valid"]) == (["/name", "/price"], False)


@pytest.fixture(scope="module")
async def api() -> AsyncIterator[MessagesApi]:
    async with messages_api() as opened:
        yield opened


async def test_a_model_from_settings_fills_what_is_left(
    open_fetching: OpenFetching, api: MessagesApi
) -> None:
    api.says = lambda _: found(warranty=("Plain words", "Plain words about the rope"))
    async with open_fetching(anthropic_api_key=KEY, anthropic_base_url=api.url) as service:
        answer = await asked(service, schema=SCHEMA)
        assert answer["data"]["warranty"] == "Plain words"
        assert answer["sources"]["/warranty"]["kind"] == "model"
        assert answer["model"] == {"name": MODEL, "status": "ok", "inputTokens": 321, "outputTokens": 45}
        assert "model" not in await asked(service, schema=SCHEMA, model=False)
        assert KEY not in service.visit.stream.getvalue()


async def test_a_model_behind_any_openai_api_fills_what_is_left_and_tells_its_cost(
    open_fetching: OpenFetching,
) -> None:
    prices = {"model_price_input": "$0.10", "model_price_output": "2"}
    async with (
        chat_api(key="sk-local") as local,
        open_fetching(
            openai_model="qwen3:8b", openai_base_url=local.base_url, openai_api_key="sk-local", **prices
        ) as service,
    ):
        local.says = lambda _: found(warranty=("Plain words", "Plain words about the rope"))
        answer = await asked(service, schema=SCHEMA)
        assert answer["data"]["warranty"] == "Plain words"
        assert answer["model"] == {
            "name": "qwen3:8b",
            "status": "ok",
            "inputTokens": 321,
            "outputTokens": 45,
            "costUsd": 0.0001221,
        }
        assert "- warranty" in local.prompt
        assert "- price" not in local.prompt  # which the rules have found
        local.says = lambda _: found(warranty=("Ten years", "Ten years of warranty"))
        made_up = await asked(service, schema=SCHEMA)
        assert (made_up["missing"], made_up["rejected"][0]["path"]) == (["/warranty"], "/warranty")
        local.says = lambda _: Cut("Sorry!", "stop")
        failed = await asked(service, schema=SCHEMA)
        assert failed["data"]["price"] == 1299.0
        assert (failed["model"]["status"], failed["model"]["costUsd"]) == ("failed", 0.0001221)
        assert "sk-local" not in service.visit.stream.getvalue()


SHELL = """<html lang="en"><title>Shop</title><div id="root"></div><script>
document.getElementById("root").innerHTML = "<h1>Silk rope</h1><dl><dt>Price<dd>$12.50</dl><p>" +
"Words that only a browser can see, since a script has written them here. ".repeat(5) + "</p>"
</script>"""


async def test_a_browser_is_used_where_it_is_needed_and_counts_as_a_render(
    open_fetching: OpenFetching,
) -> None:
    async with open_fetching(limit_renders_pro="2/86400") as service:
        user = bearer(await service.visit.key())
        wanted: dict[str, Any] = {
            "path": "/extract",
            "schema": things(price=NUMBER),
            "timeout": 30_000,
            "sent": user,
        }
        shell = say(SHELL)
        plain = await service.answer(shell, **wanted)
        assert (plain["tier"], plain["outcome"], plain["data"]) == ("basic", "empty", {})
        unneeded = await service.answer(say(ROPE), render="auto", **wanted)
        assert (unneeded["tier"], unneeded["data"]) == ("basic", {"price": 1299.0})
        for render in ("auto", "always"):
            seen = await service.answer(shell, render=render, **wanted)
            assert (seen["tier"], seen["outcome"], seen["data"]) == ("pro", "ok", {"price": 12.5})
        over = await service.post(shell, render="always", **wanted)
        assert_problem(over, "RATE_LIMITED")
        assert over.json()["details"]["policy"] == "renders-pro"


wishes = st.fixed_dictionaries(
    {},
    optional={
        "schema": st.recursive(
            st.sampled_from([TEXT, NUMBER, FLAG, DATE, {}, {"type": "nonsense"}, {"enum": [1]}]),
            lambda inner: st.one_of(
                st.builds(listed, inner),
                st.builds(lambda a, b: things(name=a, price=b), inner, inner),
                st.builds(lambda one: {**things(name=one), "required": ["name", "sku"]}, inner),
            ),
            max_leaves=6,
        ),
        "fields": st.lists(st.sampled_from(["name", "price", "", "x" * 200]), max_size=3),
        "cache": st.booleans(),
        "model": st.booleans(),
    },
)


@settings(max_examples=60)
@given(wish=wishes)
async def test_whatever_is_wished_the_answer_is_data_or_a_problem(
    fetching: Fetching, wish: dict[str, Any]
) -> None:
    response = await fetching.post(say(ROPE, target="/said/wished"), path="/extract", **wish)
    if response.status_code != 200:
        assert response.status_code in (400, 422)
        return
    answer = response.json()
    if "schema" in wish:
        assert answer["valid"] == jsonschema.Draft202012Validator(wish["schema"]).is_valid(answer["data"])
        assert answer["valid"] or answer["missing"]
