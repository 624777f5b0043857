"""Subjects of the API: their endpoints, which are imported and built when somebody first asks for them."""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar

from gossamer.doors.http.core.routing import Route, ServedSubject


class Endpoints(Protocol):
    """The endpoints of one part of a subject."""

    def routes(self) -> list[Route]: ...


class EndpointGroup:
    """The endpoints of a subject, each an attribute."""

    def routes(self) -> list[Route]:
        every: list[Endpoints] = list(vars(self).values())
        return [route for endpoints in every for route in endpoints.routes()]


E = TypeVar("E", bound=Endpoints)


class SubjectProperty(cached_property[E]):
    """Endpoints that a method imports and builds, once, and what the paths of their routes begin with."""

    def __init__(self, build: Callable[[Any], E], heads: tuple[str, ...]) -> None:
        super().__init__(build)
        self.heads = heads


def subject(*heads: str) -> Callable[[Callable[[Any], E]], SubjectProperty[E]]:
    return lambda build: SubjectProperty(build, heads)


def subjects_of(api: object) -> Iterator[ServedSubject]:
    """In the order of their declaration."""
    for name, declared in vars(type(api)).items():
        if isinstance(declared, SubjectProperty):
            yield ServedSubject(declared.heads, partial(_routes, api, name))


def _routes(api: object, name: str) -> list[Route]:
    endpoints: Endpoints = getattr(api, name)
    return endpoints.routes()
