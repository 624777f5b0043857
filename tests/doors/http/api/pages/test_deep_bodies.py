"""Bodies that are nested deeply: refused by every endpoint that takes one, and never a defect of ours."""

import itertools
from collections.abc import Callable

import pytest
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit

DEPTHS = (300, 990, 5_000)
UNREACHABLE = '"http://127.0.0.1:9/"'  # which may not be visited either
BODIES = (
    "%s",
    '{"url": %s}',
    '{"urls": [%s]}',
    '{"seeds": %s}',
    '{"options": %s}',
    f'{{"url": {UNREACHABLE}, "schema": %s}}',
    f'{{"url": {UNREACHABLE}, "schema": {{"type": "object", "default": %s}}}}',
    f'{{"url": {UNREACHABLE}, "fields": {{"a": %s}}}}',
    f'{{"url": {UNREACHABLE}, "headers": {{"a": %s}}}}',
)
keys = itertools.count()


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


def objects(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def schemas(depth: int) -> str:
    return '{"type":"object","properties":{"a":' * depth + "true" + "}}" * depth


def all_of(depth: int) -> str:
    return '{"allOf":[' * depth + "true" + "]}" * depth


@pytest.mark.parametrize("nest", [lists, objects, schemas, all_of])
async def test_deep_bodies_are_refused_by_every_endpoint(visit: Visit, nest: Callable[[int], str]) -> None:
    paths = (await visit.client.get("/openapi.json")).json()["paths"]
    posts = [path for path, methods in paths.items() if "post" in methods and not path.startswith("/test/")]
    assert len(posts) > 10
    depths = itertools.cycle(DEPTHS)  # every endpoint gets all of them, and every body
    for path, body in itertools.product((path.replace("{id}", "none") for path in posts), BODIES):
        depth = next(depths)
        sent = {
            **AS_ADMIN,
            "Content-Type": "application/json",
            "Idempotency-Key": f"deep-body-{next(keys):09}",
        }
        response = await visit.client.post(path, content=body % nest(depth), headers=sent)
        assert response.status_code < 500, (path, body, depth, response.text)
    assert not visit.logged("internal_error")


@pytest.mark.parametrize("depth", DEPTHS)
async def test_extract_says_that_a_schema_is_too_deep(visit: Visit, depth: int) -> None:
    body = f'{{"url": {UNREACHABLE}, "schema": {schemas(depth)}}}'
    response = await visit.client.post(
        "/extract", content=body, headers={**AS_ADMIN, "Content-Type": "application/json"}
    )
    document = assert_problem(response, "UNPROCESSABLE_ENTITY" if depth < 500 else "VALIDATION_ERROR")
    assert "nested" in str(document["detail"])
    assert document["hint"]
