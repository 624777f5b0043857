"""Subjects: routes that are built when somebody asks for them, and found where their subject says."""

import asyncio
import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from gossamer.app import Service
from gossamer.assembly.dropin import DOORS
from gossamer.assembly.subjects import Subjects
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.relay import Relay
from gossamer.doors.http.core.routing import Route, Router, ServedSubject
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("subjects")
    settings = {"data_dir": str(folder), "drop_in": ",".join(DOORS)}
    with asyncio.Runner() as runner:

        async def build() -> Service:
            return Service(Settings.load({}, None, settings), Log(io.StringIO()))

        built = runner.run(build())
        yield built
        runner.run(built.close())


@pytest.fixture
def subjects(service: Service) -> list[ServedSubject]:
    return Subjects(service, Relay()).every


def asked(router: Router, method: str, path: str) -> Exchange:
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    exchange = Exchange(scope, None, 0)  # type: ignore[arg-type]
    router.find(exchange)
    return exchange


def found(router: Router, route: Route) -> Route | None:
    return asked(router, route.method, re.sub(r"\{\w+\*?\}", "x", route.path)).route


def test_every_route_lies_at_an_address_of_its_subject(subjects: list[ServedSubject]) -> None:
    for subject in subjects:
        assert [route.path for route in subject.routes if not subject.has(route.path)] == []


def test_no_subject_answers_at_an_address_of_another(subjects: list[ServedSubject]) -> None:
    for subject in subjects:
        router = Router(subject.routes)
        others = (route for other in subjects if other is not subject for route in other.routes)
        taken = [route.path for route in others if found(router, route) is not None]
        assert taken == [], subject.heads


@pytest.mark.parametrize("step", [1, -1], ids=["in order", "from the last"])
def test_every_route_is_found_whatever_was_asked_for_before(subjects: list[ServedSubject], step: int) -> None:
    router = Router([], subjects)
    for subject in subjects[::step]:
        for route in subject.routes[::step]:
            one = found(router, route)
            assert one is not None, route.path
            assert (one.method, one.path) == (route.method, route.path)


def test_subjects_are_built_when_they_are_asked_for() -> None:
    built: list[str] = []

    def build(name: str) -> list[Route]:
        built.append(name)
        return []

    router = Router([], [ServedSubject([f"/{name}"], partial(build, name)) for name in ("a", "b")])
    for path in ("/c", "/ab", "/a/x", "/a"):
        assert asked(router, "GET", path).denial is not None
    assert built == ["a"]
