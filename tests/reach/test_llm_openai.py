"""The client of OpenAI's chat completions: what it asks, what it makes of an answer, and how it fails."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.servers.chat_api import MODEL, ChatApi, chat_api
from tests.servers.model_server import Cut, Status, found

from gossamer.problems import Unavailable
from gossamer.reach.http.retry import RetryBackoff
from gossamer.reach.services.llm import ModelFailed, ModelReply
from gossamer.reach.services.llm_openai import ATTEMPTS, OpenAiModel
from gossamer.web.extract.model_prompt import ModelPrompt, closed_object

KEY = "sk-proj-test-key"
PROMPT = ModelPrompt("Rules.", "Question?", closed_object({"found": {"type": "string"}}))
AT_ONCE = RetryBackoff(first=0.001, jitter=0.0)
ANSWER = found(name="Rope")


@pytest.fixture
async def api() -> AsyncIterator[ChatApi]:
    async with chat_api() as opened:
        yield opened


def model_of(api: ChatApi, *, key: str = "", seconds: float = 20.0) -> OpenAiModel:
    return OpenAiModel(MODEL, base_url=api.base_url, key=key, seconds=seconds, backoff=AT_ONCE)


async def asked(api: ChatApi, **options: Any) -> ModelReply:
    model = model_of(api, **options)
    try:
        return await model.ask(PROMPT)
    finally:
        await model.close()


async def failed(api: ChatApi, **options: Any) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        await asked(api, **options)
    assert isinstance(caught.value, Unavailable)
    return caught.value


def in_turn(*said: Any) -> Any:
    """Says one after the other, and the last one for ever."""
    left: Iterator[Any] = iter(said)
    return lambda _: next(left, said[-1])


def forms(api: ChatApi) -> list[str | None]:
    return [request.get("response_format", {}).get("type") for request in api.requests]


async def test_a_local_endpoint_is_asked_without_a_key(api: ChatApi) -> None:
    api.says = lambda _: ANSWER
    assert await asked(api) == (ANSWER, (321, 45))
    (request,), (headers,) = api.requests, api.headers
    assert "authorization" not in headers
    assert request["model"] == MODEL
    assert request["messages"][1] == {"role": "user", "content": "Question?"}
    assert request["response_format"]["json_schema"]["schema"] == PROMPT.schema


async def test_a_key_is_sent_and_one_that_is_refused_is_not_repeated(api: ChatApi) -> None:
    api.key, api.says = KEY, lambda _: ANSWER
    assert (await asked(api, key=KEY)).value == ANSWER
    problem = await failed(api, key="sk-proj-wrong")
    assert problem.why == "it answers with status 401"
    assert "sk-proj" not in repr(problem.members)


@pytest.mark.parametrize("taken", [("json_schema",), ("json_object",), ()])
async def test_an_endpoint_is_held_to_json_in_the_strictest_way_that_it_takes(
    api: ChatApi, taken: tuple[str, ...]
) -> None:
    api.forms, api.says = taken, lambda _: ANSWER
    model = model_of(api)
    for _ in range(2):
        assert (await model.ask(PROMPT)).value == ANSWER
    await model.close()
    kept = taken[0] if taken else None
    assert forms(api)[-2:] == [kept, kept]  # the second question goes there at once
    assert '"additionalProperties":false' in api.requests[-1]["messages"][0]["content"]


JSON_IN_TEXT = {
    "fence": '```json\n{"found": []}\n```',
    "words around": 'Here you are: {"found": []} Anything else?',
    "thinking": '<think>Perhaps {"found": ["x"]}?</think>\n{"found": []}',
}


@pytest.mark.parametrize("name", JSON_IN_TEXT)
async def test_json_is_found_in_text(api: ChatApi, name: str) -> None:
    api.says = lambda _: Cut(JSON_IN_TEXT[name], "stop")
    assert (await asked(api)).value == {"found": []}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Cut('{"found": [{"fie', "length"), "its answer is not complete (length)"),
        (Cut("I cannot say.", "stop"), "its answer is not complete (stop)"),
        (Cut("", "content_filter"), "its answer is not complete (content_filter)"),
        (Cut('{"a":' * 100_000, "stop"), "its answer is not complete (stop)"),
    ],
)
async def test_wrong_json_is_a_failure_that_has_cost_tokens(api: ChatApi, said: Cut, reason: str) -> None:
    api.says = lambda _: said
    problem = await failed(api)
    assert (problem.why, problem.tokens) == (reason, (321, 45))


async def test_an_endpoint_that_counts_no_tokens_is_fine(api: ChatApi) -> None:
    api.counts, api.says = False, lambda _: ANSWER
    assert await asked(api) == (ANSWER, (0, 0))


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_busy_then_success_is_a_success(api: ChatApi, status: int) -> None:
    api.says = in_turn(Status(status), Status(status), ANSWER)
    assert (await asked(api)).value == ANSWER
    assert len(api.requests) == 3


@pytest.mark.parametrize(("status", "requests"), [(429, ATTEMPTS), (403, 1), (400, 3)])
async def test_what_stays_is_said(api: ChatApi, status: int, requests: int) -> None:
    """A request that is refused is repeated in the other ways, because the way may be what is refused."""
    api.says = lambda _: Status(status)
    assert (await failed(api)).why == f"it answers with status {status}"
    assert len(api.requests) == requests


async def test_it_is_not_asked_again_if_the_deadline_would_pass(api: ChatApi) -> None:
    api.says = lambda _: Status(429)
    model = OpenAiModel(MODEL, base_url=api.base_url, seconds=5.0, backoff=RetryBackoff(first=6.0))
    with pytest.raises(ModelFailed):
        await model.ask(PROMPT)
    await model.close()
    assert len(api.requests) == 1


async def test_a_slow_endpoint_is_waited_for_within_the_deadline(api: ChatApi) -> None:
    api.says, api.seconds = lambda _: ANSWER, 0.1
    assert (await asked(api, seconds=10.0)).value == ANSWER


async def test_nobody_waits_beyond_the_deadline(api: ChatApi) -> None:
    api.silent = True
    assert (await failed(api, seconds=0.1)).why == "whole timeout"


async def test_an_answer_of_another_shape_is_a_failure(api: ChatApi) -> None:
    for api.instead in ({"error": {"message": "said the test"}}, {"choices": []}, "text", [1]):
        assert (await failed(api)).why == "its answer is not what was expected"


async def test_nobody_there() -> None:
    async with chat_api() as gone:
        pass
    assert (await failed(gone)).why == "connection refused"
