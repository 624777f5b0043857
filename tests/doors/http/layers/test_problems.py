"""Everything that goes wrong leaves as one kind of document (RFC 9457)."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.doors.services import AS_ADMIN, PUBLIC_URL, Visit, Visiting, bearer

from gossamer import problems
from gossamer.doors.http.docs.openapi import _PROBLEM_SCHEMA

VALIDATOR = Draft202012Validator(_PROBLEM_SCHEMA)


def assert_problem(response: httpx.Response, code: str) -> dict[str, object]:
    """The response is a valid document of this code, in all three formats at once."""
    document: dict[str, object] = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    VALIDATOR.validate(document)
    kind = next(kind for kind in problems.KINDS.values() if kind.code == code)
    assert document["code"] == code
    assert document["error"] == code or kind.status == 402  # there it is x402's text
    assert document["status"] == response.status_code == kind.status
    assert document["type"] == document["docsUrl"] == f"{PUBLIC_URL}/problems/{kind.name}"
    assert document["title"] == kind.title
    assert document["message"] == document["detail"]
    assert document["instance"] == response.request.url.path
    assert document["requestId"] == response.headers["x-request-id"]
    return document


async def test_fr001_fr002_fr007_validation_error(visit: Visit) -> None:
    response = await visit.client.post("/test/echo", json={"times": 2})
    document = assert_problem(response, "VALIDATION_ERROR")
    assert "text" in str(document["detail"])


@pytest.mark.parametrize(
    ("method", "path", "options", "code"),
    [
        ("POST", "/test/echo", {"json": {}}, "VALIDATION_ERROR"),
        ("POST", "/test/echo", {"json": {"text": 5}}, "VALIDATION_ERROR"),
        ("POST", "/test/echo", {"json": {"text": "a", "other": 1}}, "VALIDATION_ERROR"),
        ("POST", "/test/echo", {"json": [1, 2]}, "VALIDATION_ERROR"),
        (
            "POST",
            "/test/echo",
            {"content": b"{", "headers": {"content-type": "application/json"}},
            "VALIDATION_ERROR",
        ),
        (
            "POST",
            "/test/echo",
            {"content": b"", "headers": {"content-type": "application/json"}},
            "VALIDATION_ERROR",
        ),
        (
            "POST",
            "/test/echo",
            {"content": b'{"text": "\xff"}', "headers": {"content-type": "application/json"}},
            "VALIDATION_ERROR",
        ),
        (
            "POST",
            "/test/echo",
            {"content": b"[" * 100_000, "headers": {"content-type": "application/json"}},
            "VALIDATION_ERROR",
        ),
        ("GET", "/test/listing?limit=eleven", {}, "VALIDATION_ERROR"),
        ("GET", "/test/listing?limit=11", {}, "VALIDATION_ERROR"),
        ("GET", "/test/listing?limit=1&limit=2", {}, "VALIDATION_ERROR"),
        ("GET", "/test/listing?other=1", {}, "VALIDATION_ERROR"),
        ("GET", "/test/listing?" + "&".join(f"a{n}=1" for n in range(200)), {}, "VALIDATION_ERROR"),
        ("POST", "/test/echo", {"content": b"text=a"}, "UNSUPPORTED_MEDIA_TYPE"),
        ("POST", "/test/echo", {"data": {"text": "a"}}, "UNSUPPORTED_MEDIA_TYPE"),
        ("PUT", "/test/echo", {}, "METHOD_NOT_ALLOWED"),
        ("OPTIONS", "/test/echo", {}, "METHOD_NOT_ALLOWED"),
        ("GET", "/nowhere", {}, "NOT_FOUND"),
        ("GET", "/problems/none-such", {}, "NOT_FOUND"),
        ("POST", "/test/fail/defect", {}, "INTERNAL_ERROR"),
        ("POST", "/test/fail/bare", {}, "NOT_FOUND"),
        ("GET", "/test/wait", {}, "SERVICE_UNAVAILABLE"),
        ("GET", "/test/user", {}, "UNAUTHORIZED"),
        ("GET", "/test/user", {"headers": bearer("sk_live_unknown")}, "UNAUTHORIZED"),
        ("GET", "/test/user", {"headers": {"Authorization": "Basic YTpi"}}, "UNAUTHORIZED"),
        ("GET", "/test/user", {"headers": {"Authorization": "Bearer"}}, "UNAUTHORIZED"),
    ],
)
async def test_fr001_every_mistake_is_a_problem(
    visit: Visit, method: str, path: str, options: dict[str, object], code: str
) -> None:
    response = await visit.client.request(method, path, **options)  # type: ignore[arg-type]
    assert_problem(response, code)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "The body is empty."),
        (b" \n", "The body is empty."),
        (b'{"text":"\\ud800"}', "The body is not valid Unicode."),
        (b'{"text":"\\udfff"}', "The body is not valid Unicode."),
        (b'{"text":"\\ud83d\\ud83d"}', "The body is not valid Unicode."),
        (b'{"text":"\xff"}', "The body is not valid Unicode."),
        (b'{"text":"\\ud83d\\ude00"', "Input data was truncated."),
        (b'{"text":"\\\\ud800"', "Input data was truncated."),
        (b'{"text":', "Input data was truncated."),
    ],
)
async def test_what_is_wrong_with_a_body_is_told_in_words_that_fit(
    visit: Visit, body: bytes, detail: str
) -> None:
    headers = {"content-type": "application/json"}
    response = await visit.client.post("/test/echo", content=body, headers=headers)
    assert assert_problem(response, "VALIDATION_ERROR")["detail"] == detail


@pytest.mark.parametrize("kind", problems.KINDS.values(), ids=lambda kind: kind.name)
async def test_fr003_every_kind_leaves_as_declared(visit: Visit, kind: problems.ProblemKind) -> None:
    assert_problem(await visit.client.post(f"/test/fail/{kind.name}"), kind.code)


async def test_fr003_a_role_that_is_not_enough(visit: Visit) -> None:
    response = await visit.client.get("/test/admin", headers=bearer(await visit.key()))
    assert_problem(response, "FORBIDDEN")


async def test_fr005_fr033_the_type_is_never_built_from_the_host_header(visit: Visit) -> None:
    response = await visit.client.get("/nowhere", headers={"Host": "evil.example"})
    assert response.json()["type"] == f"{PUBLIC_URL}/problems/not-found"


async def test_fr003_method_not_allowed_lists_the_methods(visit: Visit) -> None:
    response = await visit.client.put("/api/admin/keys")
    assert response.headers["allow"] == "GET, HEAD, POST"


async def test_fr004_fr025_every_kind_has_a_page_open_to_all(visit: Visit) -> None:
    for name in problems.KINDS:
        page = await visit.client.get(f"/problems/{name}", headers={"Accept": "text/html"})
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")


async def test_fr006_fr027_success_is_plain_json(visit: Visit) -> None:
    response = await visit.client.post("/test/echo", json={"text": "a"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {"text": "a", "count": 1}


async def test_a_defect_is_logged_with_its_traceback_and_without_its_secrets(visit: Visit) -> None:
    response = await visit.client.post("/test/fail/defect")
    [line] = visit.logged("internal_error")
    assert line["requestId"] == response.headers["x-request-id"]
    assert "RuntimeError" in json.dumps(line)
    assert "sk_live_0123456789" not in visit.stream.getvalue() + response.text


async def test_a_body_over_the_limit_is_refused(visiting: Visiting) -> None:
    async with visiting(max_request_bytes=2000) as visit:
        declared = await visit.client.post("/test/echo", json={"text": "a" * 3000})
        assert_problem(declared, "PAYLOAD_TOO_LARGE")

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"a" * 100

        undeclared = await visit.client.post(
            "/test/echo", content=chunks(), headers={"content-type": "application/json"}
        )
        assert_problem(undeclared, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "Idempotency-Key"])
async def test_a_header_that_may_appear_once(visit: Visit, name: str) -> None:
    request = visit.client.build_request("POST", "/test/echo", json={"text": "a"})
    request.headers = httpx.Headers([*request.headers.multi_items(), (name, "x y"), (name, "x y")])
    assert_problem(await visit.client.send(request), "VALIDATION_ERROR")


async def test_head_answers_like_get_without_a_body(visit: Visit) -> None:
    response = await visit.client.head("/health/live")
    assert response.status_code == 200


async def test_security_headers(visit: Visit) -> None:
    headers = (await visit.client.get("/nowhere")).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["strict-transport-security"].startswith("max-age=")


async def test_no_cross_origin_access_unless_configured(visit: Visit, visiting: Visiting) -> None:
    origin = {"Origin": "https://app.example"}
    assert "access-control-allow-origin" not in (await visit.client.get("/health", headers=origin)).headers
    async with visiting(cors_origins="https://app.example") as configured:
        allowed = await configured.client.get("/nowhere", headers=origin)
        assert allowed.headers["access-control-allow-origin"] == "https://app.example"
        other = await configured.client.get("/nowhere", headers={"Origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers
        preflight = await configured.client.options(
            "/api/admin/keys", headers={**origin, "Access-Control-Request-Method": "POST"}
        )
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        assert "x-request-id" in preflight.headers
        allowed_methods = preflight.headers["access-control-allow-methods"].split(", ")
        document = (await configured.client.get("/openapi.json")).json()
        operations = [each for path in document["paths"].values() for each in path.items()]
        assert {method.upper() for method, _ in operations} <= set(allowed_methods)
        told = [answer["headers"] for _, one in operations for answer in one["responses"].values()]
        exposed = allowed.headers["access-control-expose-headers"].split(", ")
        # A browser shows a script no cookie, whatever is exposed, and always how long an answer is good.
        named = {name for headers in told for name in headers} - {"Set-Cookie", "Cache-Control"}
        assert named <= set(exposed)


async def test_unknown_query_parameters_are_refused_everywhere(visit: Visit) -> None:
    for path in ("/api/render", "/fetch", "/extract", "/search", "/screenshot", "/api/admin/keys"):
        answer = await visit.client.post(f"{path}?nonsense=1", json={}, headers=AS_ADMIN)
        assert (
            assert_problem(answer, "VALIDATION_ERROR")["detail"]
            == "Object contains unknown field `nonsense`."
        )
    for path in ("/health/live?probe=1", "/docs?utm_source=a", "/problems?a"):
        assert (await visit.client.get(path)).status_code == 200


@settings(max_examples=150)
@given(
    route=st.integers(0, 10_000),
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]),
    body=st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=20),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
            ),
        ).map(lambda value: json.dumps(value).encode()),
    ),
    query=st.text(st.characters(codec="ascii"), max_size=30),
    media_type=st.sampled_from(["application/json", "text/plain", "application/vnd.a+json", ""]),
)
async def test_every_route_with_bad_input_answers_with_a_valid_document(
    visit: Visit, route: int, method: str, body: bytes, query: str, media_type: str
) -> None:
    paths = [r.path.replace("{id}", "none").replace("{name}", "none-such") for r in every_route(visit)]
    response = await visit.client.request(
        method,
        paths[route % len(paths)],
        content=body,
        params={"q": query},
        headers={**AS_ADMIN, "Content-Type": media_type},
    )
    assert response.status_code != 500
    if response.status_code >= 400:
        assert_problem(response, response.json()["code"])


def every_route(visit: Visit):  # type: ignore[no-untyped-def]
    from gossamer.assembly.api import routes

    return [route for route in routes(visit.service) if "rotate" not in route.path]


@pytest.mark.parametrize("written", ["3.0", "3e0", "30e-1", "3"])
async def test_a_whole_number_may_be_written_as_a_fraction(visit: Visit, written: str) -> None:
    body = f'{{"text": "a", "times": {written}}}'
    answer = await visit.client.post("/test/echo", content=body, headers={"Content-Type": "application/json"})
    assert answer.json()["text"] == "aaa"


@pytest.mark.parametrize("written", ["3.5", "1e400", "0.0", "1e300", '"3.0"'])
async def test_a_number_that_is_not_whole_or_out_of_range_is_refused(visit: Visit, written: str) -> None:
    body = f'{{"text": "a", "times": {written}}}'
    answer = await visit.client.post("/test/echo", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")
    assert "$.times" in answer.json()["detail"]
