"""The client of the Messages API: what it asks, and that whatever goes wrong is one kind of problem."""

import sys
from collections.abc import AsyncIterator

import pytest
from tests.servers.messages_api import KEY, MODEL, MessagesApi, messages_api
from tests.servers.model_server import Cut, Status, found

from gossamer.problems import Unavailable
from gossamer.reach.services.llm import ModelReply
from gossamer.reach.services.llm_anthropic import AnthropicModel
from gossamer.web.extract.model_prompt import ModelPrompt, closed_object

SCHEMA = closed_object({})
PROMPT = ModelPrompt("Rules.", "Question?", SCHEMA)


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with messages_api() as opened:
        yield opened


async def asked(api: MessagesApi, *, key: str = KEY, seconds: float = 20.0) -> ModelReply:
    model = AnthropicModel(key, MODEL, base_url=api.url, seconds=seconds)
    try:
        return await model.ask(PROMPT)
    finally:
        await model.close()


async def why(api: MessagesApi, **options: float) -> str:
    with pytest.raises(Unavailable) as caught:
        await asked(api, **options)  # type: ignore[arg-type]
    assert caught.value.service == "language model"
    return str(caught.value.members["details"]["reason"])


async def test_it_asks_for_an_answer_that_holds_to_the_schema(api: MessagesApi) -> None:
    api.says = lambda _: found(name="Rope")
    answer = await asked(api)
    assert answer.value == found(name="Rope")
    assert answer.tokens == (321, 45)
    (request,) = api.requests
    assert (request["model"], request["system"]) == (MODEL, "Rules.")
    assert request["messages"] == [{"role": "user", "content": "Question?"}]
    assert request["output_config"]["format"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Status(400), "it answers with status 400"),
        (Status(429, "rate_limit_error"), "it answers with status 429"),
        (Status(529, "overloaded_error"), "it answers with status 529"),
        (Cut('{"found": [{"fie'), "its answer is not complete (max_tokens)"),
        (Cut("", "refusal"), "its answer is not complete (refusal)"),
    ],
)
async def test_whatever_it_answers_instead_is_said(api: MessagesApi, said: Status | Cut, reason: str) -> None:
    api.says = lambda _: said
    assert await why(api) == reason


async def test_a_key_that_is_refused_is_not_repeated(api: MessagesApi) -> None:
    with pytest.raises(Unavailable) as caught:
        await asked(api, key="sk-ant-wrong")
    assert "status 401" in caught.value.detail
    assert "sk-ant" not in repr(caught.value.members)


async def test_nobody_waits_for_ever(api: MessagesApi) -> None:
    await asked(api)  # the client is loaded
    api.silent = True
    assert await why(api, seconds=0.2) in ("it takes too long", "APITimeoutError")


async def test_nobody_there() -> None:
    async with messages_api() as gone:
        pass
    assert await why(gone) == "APIConnectionError"


async def test_without_the_extra_it_says_so(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    assert await why(api) == "gossamer[llm] is not installed"
    assert api.requests == []
