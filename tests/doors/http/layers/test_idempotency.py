"""Idempotency-Key: a POST that is sent again does nothing a second time."""

import asyncio

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.servers.valkey import Valkey

from gossamer.doors.http.layers.idempotency import canonical
from gossamer.state.kv.hot import Claim
from gossamer.state.kv.resp import RespClient
from gossamer.state.kv.resp_address import Address

BODY = {"text": "a", "times": 2}


async def post(
    visit: Visit, key: str, body: object = BODY, path: str = "/test/echo", **headers: str
) -> httpx.Response:
    return await visit.client.post(path, json=body, headers={"Idempotency-Key": key, **headers})


async def test_fr018_fr032d_the_same_request_gets_the_same_answer(visit_on_each_hot: Visit) -> None:
    visit = visit_on_each_hot
    first, second = await post(visit, "same"), await post(visit, "same")
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert "x-idempotent-replayed" not in first.headers
    assert second.headers["x-idempotent-replayed"] == "true"
    assert second.headers["content-type"] == first.headers["content-type"]
    assert second.headers["x-request-id"] != first.headers["x-request-id"]
    assert visit.echo.runs == 1


async def test_fr018_fr032e_another_body_is_a_conflict(visit_on_each_hot: Visit) -> None:
    await post(visit_on_each_hot, "key-1")
    conflict = await post(visit_on_each_hot, "key-1", {"text": "other"})
    document = assert_problem(conflict, "IDEMPOTENCY_KEY_CONFLICT")
    assert "new key" in str(document["hint"])
    assert visit_on_each_hot.echo.runs == 1


async def test_another_query_is_a_conflict(visit: Visit) -> None:
    await post(visit, "key-1")
    assert_problem(await post(visit, "key-1", path="/test/echo?a=1"), "IDEMPOTENCY_KEY_CONFLICT")


async def test_fr032b_the_order_of_keys_and_white_space_do_not_matter(visit: Visit) -> None:
    headers = {"Idempotency-Key": "order", "Content-Type": "application/json"}
    await visit.client.post("/test/echo", content=b'{"text":"a","times":2}', headers=headers)
    again = await visit.client.post("/test/echo", content=b'{ "times": 2, "text": "a" }', headers=headers)
    assert again.headers["x-idempotent-replayed"] == "true"


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.integers()), min_size=2))
def test_fr032b_canonical_json_is_independent_of_order(value: dict[str, object]) -> None:
    import msgspec

    backwards = dict(reversed(list(value.items())))
    assert canonical(msgspec.json.encode(value)) == canonical(msgspec.json.encode(backwards))


async def test_fr019_fr032c_a_key_is_forgotten_after_its_time(visiting: Visiting) -> None:
    async with visiting(idempotency_ttl_seconds=1) as visit:
        await post(visit, "short")
        deadline = asyncio.get_running_loop().time() + 5
        while (await post(visit, "short")).headers.get("x-idempotent-replayed"):
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.1)
        assert visit.echo.runs == 2


async def test_fr020_of_many_at_once_one_runs_and_the_others_get_its_answer(visit_on_each_hot: Visit) -> None:
    visit = visit_on_each_hot
    visit.echo.gate.clear()
    sent = [asyncio.create_task(post(visit, "at-once")) for _ in range(50)]
    while not visit.echo.runs:
        await asyncio.sleep(0)
    visit.echo.gate.set()
    answers = await asyncio.gather(*sent)
    assert visit.echo.runs == 1
    assert {answer.content for answer in answers} == {answers[0].content}
    assert sum("x-idempotent-replayed" in answer.headers for answer in answers) == 49


def count_claims(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
    """What requests were told when they asked for the work: the first has it, the others wait for it."""
    claims: list[Claim] = []
    claim = visit.service.hot.claim

    async def counted(key: str, lease: float) -> Claim:
        claims.append(await claim(key, lease))
        return claims[-1]

    monkeypatch.setattr(visit.service.hot, "claim", counted)
    return claims


async def reached(number: int, claims: list[Claim]) -> None:
    async with asyncio.timeout(30):
        while len(claims) < number:
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/test/fail/fetch-timeout", 502),
        ("/test/fail/service-unavailable", 503),
        ("/test/fail/rate-limit-exceeded", 429),
        ("/test/fail/payment-required", 402),
        ("/test/echo", 200),  # too large to be stored
    ],
)
async def test_decision5_who_waited_shares_what_is_not_stored_and_who_comes_later_runs(
    visit_on_each_hot: Visit, monkeypatch: pytest.MonkeyPatch, path: str, status: int
) -> None:
    visit, body = visit_on_each_hot, {"text": "0123456789", "times": 110_000}
    claims = count_claims(visit, monkeypatch)
    visit.echo.gate.clear()
    sent = [asyncio.create_task(post(visit, "shared", body, path)) for _ in range(20)]
    await reached(20, claims)
    visit.echo.gate.set()
    answers = await asyncio.gather(*sent)
    assert visit.echo.runs == 1
    assert {(answer.status_code, answer.content) for answer in answers} == {(status, answers[0].content)}
    assert sum("x-idempotent-replayed" in answer.headers for answer in answers) == 19
    later = await post(visit, "shared", body, path)
    assert (later.status_code, visit.echo.runs) == (status, 2)
    assert "x-idempotent-replayed" not in later.headers


async def test_decision5_who_waited_in_another_process_shares_a_failure(
    visiting: Visiting, own_valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/test/fail/fetch-failed"
    async with (
        visiting(redis_url=own_valkey.url) as one,
        visiting(redis_url=own_valkey.url, echo_tables=False) as other,
    ):
        claims = count_claims(other, monkeypatch)
        one.echo.gate.clear()
        first = asyncio.create_task(post(one, "shared", path=path))
        while not one.echo.runs:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(post(other, "shared", path=path)) for _ in range(5)]
        await reached(5, claims)
        one.echo.gate.set()
        answers = await asyncio.gather(first, *others)
        assert (one.echo.runs, other.echo.runs) == (1, 0)
        assert {(answer.status_code, answer.content) for answer in answers} == {(502, answers[0].content)}
        assert (await post(other, "shared", path=path)).status_code == 502
        assert other.echo.runs == 1


async def test_when_the_first_client_leaves_one_of_those_who_wait_takes_over(
    visit_on_each_hot: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = visit_on_each_hot
    claims = count_claims(visit, monkeypatch)
    visit.echo.gate.clear()
    sent = [asyncio.create_task(post(visit, "left"))]
    await reached(1, claims)
    sent += [asyncio.create_task(post(visit, "left")) for _ in range(10)]
    await reached(11, claims)
    sent[0].cancel()
    while visit.echo.runs < 2:
        await asyncio.sleep(0.001)
    visit.echo.gate.set()
    answers = await asyncio.gather(*sent[1:])
    assert visit.echo.runs == 2
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}


async def test_fr028_without_a_key_every_request_runs(visit: Visit) -> None:
    for _ in range(2):
        await visit.client.post("/test/echo", json=BODY)
    assert visit.echo.runs == 2


@pytest.mark.parametrize("key", ["", " ", "a" * 256, "a b", "caf\u00e9", "tab\there"])
async def test_fr017_a_key_that_is_not_acceptable(visit: Visit, key: str) -> None:
    response = await visit.client.post(
        "/test/echo", json=BODY, headers=[(b"Idempotency-Key", key.encode("utf-8"))]
    )
    assert_problem(response, "VALIDATION_ERROR")
    assert visit.echo.runs == 0


@pytest.mark.parametrize("key", ["a", "a" * 255, "!~", "8e03978e-40d5-43e8-bc93-6894a57f9324"])
async def test_fr017_a_key_that_is(visit: Visit, key: str) -> None:
    assert (await post(visit, key)).status_code == 200


@pytest.mark.parametrize(
    "name", ["payment-required", "rate-limit-exceeded", "internal-error", "service-unavailable"]
)
async def test_decision5_failures_that_may_pass_are_not_stored(visit: Visit, name: str) -> None:
    for _ in range(2):
        answer = await visit.client.post(f"/test/fail/{name}", headers={"Idempotency-Key": "again"})
        assert "x-idempotent-replayed" not in answer.headers
    assert visit.echo.runs == 2


async def test_decision5_other_refusals_are_stored(visit: Visit) -> None:
    first = await visit.client.post("/test/fail/not-found", headers={"Idempotency-Key": "again"})
    second = await visit.client.post("/test/fail/not-found", headers={"Idempotency-Key": "again"})
    assert second.headers["x-idempotent-replayed"] == "true"
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert second.headers["content-type"] == "application/problem+json"
    assert visit.echo.runs == 1


async def test_decision5_large_answers_are_not_stored(visit: Visit) -> None:
    for _ in range(2):
        answer = await post(visit, "large", {"text": "0123456789", "times": 110_000})
        assert len(answer.content) > 1_000_000
    assert visit.echo.runs == 2


async def test_decision5_scoped_to_caller_and_path(visit: Visit) -> None:
    await post(visit, "mine")
    await post(visit, "mine", **AS_ADMIN)
    await post(visit, "mine", **bearer(await visit.key()))
    await post(visit, "mine", path="/test/effect")
    assert visit.echo.runs == 4


async def test_a_route_may_leave_it_out(visit: Visit) -> None:
    for _ in range(2):
        await post(visit, "stream", path="/test/stream")
    assert visit.echo.runs == 2


async def test_nfr005_without_the_store_requests_run_and_effects_happen_once(
    visiting: Visiting, own_valkey: Valkey
) -> None:
    async with visiting(redis_url=own_valkey.url) as visit:
        own_valkey.kill()
        answers = await asyncio.gather(*(post(visit, "once", path="/test/effect") for _ in range(20)))
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.content for answer in answers}) == 1
        assert await visit.echo.effects() == 1
        conflict = await post(visit, "once", {"text": "other"}, path="/test/effect")
        assert_problem(conflict, "IDEMPOTENCY_KEY_CONFLICT")


async def test_an_effect_survives_the_loss_of_hot(visiting: Visiting) -> None:
    async with visiting() as visit:
        first = await post(visit, "kept", path="/test/effect")
    async with visiting() as restarted:
        second = await post(restarted, "kept", path="/test/effect")
        assert (second.status_code, second.content) == (first.status_code, first.content)
        assert second.headers["x-idempotent-replayed"] == "true"
        assert restarted.echo.runs == 1
        assert await restarted.echo.effects() == 1


async def test_nfr007_a_replay_is_logged_with_its_key(visit: Visit) -> None:
    await post(visit, "logged-key")
    await post(visit, "logged-key")
    [line] = visit.logged("idempotent_replay")
    assert line["idempotencyKey"] == "logged-key"
    assert line["replayed"] is True


async def test_a_waiter_is_bounded_by_its_deadline(visiting: Visiting) -> None:
    async with visiting(request_deadline=1) as visit:
        visit.echo.gate.clear()
        first, second = await asyncio.gather(post(visit, "stuck"), post(visit, "stuck"))
        assert_problem(first, "SERVICE_UNAVAILABLE")
        assert_problem(second, "SERVICE_UNAVAILABLE")
        visit.echo.gate.set()
        assert (await post(visit, "stuck")).status_code == 200


async def test_a_secret_that_is_shown_once_is_sealed_in_the_store(
    visiting: Visiting, own_valkey: Valkey
) -> None:
    async with visiting(redis_url=own_valkey.url) as visit:
        body = {"email": "team@example.com"}
        first = await post(visit, "make-key", body, "/api/admin/keys", **AS_ADMIN)
        again = await post(visit, "make-key", body, "/api/admin/keys", **AS_ADMIN)
        assert first.status_code == again.status_code == 201
        assert first.json() == again.json()
        secret = first.json()["key"].encode()
        async with visit.service.database.read() as connection:
            rows = (await connection.exec_driver_sql("SELECT answer FROM once")).all()
        assert len(rows) == 1
        assert secret not in bytes(rows[0].answer)
        client = RespClient(Address.parse(own_valkey.url))
        [name] = await client.call("KEYS", "*claim*")
        assert secret not in await client.call("GET", name)
        await client.close()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y"])), max_size=12), st.integers())
async def test_any_sequence_of_keys_and_bodies_is_answered_as_the_model_says(
    visit: Visit, sequence: list[tuple[str, str]], salt: int
) -> None:
    """The first body under a key is the one that runs, once; all others replay it or conflict."""
    first_body: dict[str, str] = {}
    before = visit.echo.runs
    for key, text in sequence:
        response = await post(visit, f"{key}{salt}-{before}", {"text": text})
        if first_body.setdefault(key, text) != text:
            assert response.status_code == 409
        else:
            assert response.json()["text"] == text
    assert visit.echo.runs - before == len(first_body)
