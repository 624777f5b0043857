"""The OpenAPI document of the whole application: valid, complete, and true to its own schemas."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import jsonschema
import msgspec
import pytest
import schemathesis
from tests.doors.services import PUBLIC_URL, Visit

from gossamer import problems
from gossamer.app import Service
from gossamer.assembly import api
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route, path_parameters, path_template
from gossamer.doors.http.docs import openapi
from gossamer.doors.http.docs.pages import DocsEndpoints
from gossamer.state.tenants.tenants import Role

Document = dict[str, Any]


def all_routes(service: Service) -> list[Route]:
    """Every route of the application, as it is put together in `app.py`."""
    others = api.routes(service)
    return [*others, *DocsEndpoints(PUBLIC_URL, others, service.limits.table).routes()]


@pytest.fixture(scope="module")
def routes(visit: Visit) -> list[Route]:
    return all_routes(visit.service)


@pytest.fixture(scope="module")
async def document(visit: Visit) -> AsyncIterator[Document]:
    """The document as the application serves it."""
    transport = httpx.ASGITransport(visit.service.app())
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield (await client.get("/openapi.json")).json()


def operations(document: Document) -> Iterator[tuple[str, Document]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def contents(operation: Document) -> Iterator[tuple[str, Document]]:
    """Every body of an operation, sent or received, with its media type."""
    yield from operation.get("requestBody", {}).get("content", {}).items()
    for response in operation["responses"].values():
        yield from response.get("content", {}).items()


def examples(document: Document) -> Iterator[tuple[str, Any, Document]]:
    """Every example with the schema that it must satisfy."""
    for name, operation in operations(document):
        for _, content in contents(operation):
            if "example" in content:
                yield name, content["example"], content["schema"]
            for one in content.get("examples", {}).values():
                yield name, one["value"], content["schema"]
        for parameter in operation["parameters"]:
            if "example" in parameter:
                yield f"{name} {parameter['name']}", parameter["example"], parameter["schema"]
    for name, header in document["components"]["headers"].items():
        if "example" in header:
            yield name, header["example"], header["schema"]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def referred(document: Document, reference: str) -> Any:
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


async def test_the_document_is_openapi_3_1(document: Document) -> None:
    assert document["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(document).validate()


async def test_every_route_is_there_and_nothing_else(routes: list[Route], document: Document) -> None:
    assert sorted(name for name, _ in operations(document)) == sorted(
        f"{route.method} {path_template(route.path)}" for route in routes
    )


async def test_operation_ids_are_unique(document: Document) -> None:
    ids = [operation["operationId"] for _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
    assert all(one.isidentifier() for one in ids)


async def test_every_example_satisfies_its_schema(document: Document) -> None:
    seen = 0
    for where, value, schema in examples(document):
        whole = {**schema, "components": document["components"]}
        validator = jsonschema.Draft202012Validator(
            whole, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
        )
        failures = [failure.message for failure in validator.iter_errors(value)]
        assert not failures, f"{where}: {failures}"
        seen += 1
    assert seen > len(problems.KINDS)


async def test_every_json_body_has_an_example(document: Document) -> None:
    for name, operation in operations(document):
        for media_type, content in contents(operation):
            if media_type.endswith("json"):
                assert "example" in content or content["examples"], name


async def test_every_schema_is_a_schema(document: Document) -> None:
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


async def test_no_reference_dangles_and_no_component_is_unused(document: Document) -> None:
    found = set(references(document))
    for reference in found:
        assert referred(document, reference), reference
    for place in ("schemas", "headers"):
        used = {f"#/components/{place}/{name}" for name in document["components"][place]}
        assert used <= found


async def test_every_route_declares_each_of_its_problems(routes: list[Route], document: Document) -> None:
    for route in routes:
        responses = document["paths"][path_template(route.path)][route.method.lower()]["responses"]
        for kind in openapi.kinds(route):
            content = responses[str(kind.status)]["content"][problems.MEDIA_TYPE]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
            shown = content["examples"][kind.name]["value"]
            assert (shown["code"], shown["instance"]) == (kind.code, route.path)
            assert shown["type"] == f"{PUBLIC_URL}/problems/{kind.name}"


async def test_what_every_route_can_answer(routes: list[Route]) -> None:
    for route in routes:
        statuses = {kind.status for kind in openapi.kinds(route)}
        assert {400, 429, 431, 500, 503} <= statuses
        assert ({401, 403} <= statuses) == (route.needs is not Role.NOBODY)
        assert (409 in statuses) >= (route.method == "POST" and route.idempotent)
        assert (415 in statuses) == (route.body_type is not None)
        assert (404 in statuses) >= bool(path_parameters(route.path)), route.path


async def test_every_answer_declares_its_headers(document: Document) -> None:
    common = {
        "X-Request-Id", "X-Processing-Time", "X-RateLimit-Limit", "X-RateLimit-Remaining",
        "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit",
    }  # fmt: skip
    for name, operation in operations(document):
        for status, response in operation["responses"].items():
            headers = set(response["headers"])
            assert common <= headers, name
            assert ("Retry-After" in headers) == (status in ("429", "503")), name
            assert ("WWW-Authenticate" in headers) == (status == "401"), name
            assert ("Location" in headers) == (status.startswith("3") and status != "304"), name


async def test_only_answers_that_are_kept_can_be_replays(document: Document) -> None:
    responses = document["paths"]["/api/admin/keys"]["post"]["responses"]
    replays = {status for status, one in responses.items() if "X-Idempotent-Replayed" in one["headers"]}
    assert {"201", "400", "422"} <= replays
    assert not replays & {"402", "429", "500", "503"}
    listing = document["paths"]["/api/admin/keys"]["get"]["responses"]["200"]
    assert "X-Idempotent-Replayed" not in listing["headers"]


async def test_an_answer_carries_the_headers_that_it_declares(visit: Visit, document: Document) -> None:
    for path in ("/health", "/docs", "/openapi.json", "/problems/not-found"):
        template = path if path in document["paths"] else "/problems/{name}"
        answer = await visit.client.get(path)
        declared = document["paths"][template]["get"]["responses"]["200"]
        assert all(name in answer.headers for name in declared["headers"]), path
        assert answer.headers["content-type"].partition(";")[0] in declared["content"]


async def test_parameters_are_described(routes: list[Route], document: Document) -> None:
    for name, operation in operations(document):
        for parameter in operation["parameters"]:
            assert parameter["description"], f"{name}: {parameter['name']}"
    for route in routes:
        declared = document["paths"][path_template(route.path)][route.method.lower()]["parameters"]
        assert [p["name"] for p in declared if p["in"] == "path"] == path_parameters(route.path)


async def test_tags_are_described_and_used(document: Document) -> None:
    described = {tag["name"] for tag in document["tags"] if tag["description"]}
    assert described == {operation["tags"][0] for _, operation in operations(document)}


async def test_the_role_a_route_needs_is_declared(document: Document) -> None:
    for name, operation in operations(document):
        open_to_all = operation["x-role"] == "nobody"
        assert operation["security"] == ([] if open_to_all else [{"apiKey": []}]), name


class Thing(msgspec.Struct):
    """Something."""

    name: str


class Filter(msgspec.Struct):
    """Which of them."""

    size: int = 10


class Shop:
    async def list_things(self, exchange: Exchange, query: Filter) -> list[Thing]:
        return []

    async def list_parts(self, exchange: Exchange, query: Filter) -> list[Thing]:
        return []


def test_two_routes_may_share_a_handler() -> None:
    shop = Shop()
    routes = [
        Route(method="GET", path=path, handler=shop.list_things, needs=Role.USER, tag="Shop", summary="")
        for path in ("/things", "/v1/things")
    ]
    document = openapi.document(routes, PUBLIC_URL)
    assert [one["operationId"] for _, one in operations(document)] == ["listThings", "listThings2"]


def test_two_routes_may_share_a_query() -> None:
    shop = Shop()
    routes = [
        Route(method="GET", path=f"/{name}", handler=handler, needs=Role.USER, tag="Shop", summary=name)
        for name, handler in (("things", shop.list_things), ("parts", shop.list_parts))
    ]
    document = openapi.document(routes, PUBLIC_URL)
    schemathesis.openapi.from_dict(document).validate()
    for path in ("/things", "/parts"):
        operation = document["paths"][path]["get"]
        assert operation["parameters"] == [
            {
                "name": "size",
                "in": "query",
                "required": False,
                "description": "",
                "schema": {"type": "integer", "default": 10},
            }
        ]
    assert set(document["components"]["schemas"]) == {"Problem", "Thing"}


@pytest.mark.parametrize(
    ("path", "tier", "via"),
    [("/fetch", "basic", "fetch"), ("/fetch/basic", "basic", "fetch"), ("/fetch/pro", "pro", "render")],
)
async def test_the_example_of_a_fetch_is_of_its_tier(
    document: Document, path: str, tier: str, via: str
) -> None:
    content = document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]
    shown = content.get("example") or next(iter(content["examples"].values()))["value"]
    assert (shown["tier"], shown["via"]) == (tier, via)
