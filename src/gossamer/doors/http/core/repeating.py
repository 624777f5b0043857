"""Answers that can be given again without being made again, because they were made from something in Hot."""

import re
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.flows.render.serve import HotPage
from gossamer.web.pages.cache_options import CachePart
from gossamer.web.render.request import RenderRequest

NewText = Callable[[], str]

_NUMBER: Final = re.compile(rb"[0-9.e-]+")


class RepeatableRender(NamedTuple):
    """A rendered page of the hot tier."""

    page: HotPage
    request: RenderRequest

    def translate(self, _seconds_field: str) -> "RepeatableRender":
        return self


class RepeatableAnswer(Struct, frozen=True):
    """An answer of the cache."""

    part: CachePart
    max_age: float | None
    boundary: str = ""  # in the body
    new_boundary: NewText | None = None
    shows_lifetime: bool = False  # in `Cache-Control`
    seconds_field: str = ""  # at the end of the body, with the time that the answer took

    def translate(self, seconds_field: str) -> "RepeatableAnswer":
        """What an answer is repeated by that was made from this one."""
        return replace(self, shows_lifetime=False, seconds_field=seconds_field)

    def lifetime(self, age: float) -> bytes:
        """The value of `Cache-Control`: whoever asked may keep the answer as long as our cache does."""
        return private_for((self.part.until or 0.0) - (self.part.since or 0.0) - age).encode()


def private_for(seconds: float) -> str:
    return f"private, max-age={max(0, int(seconds))}"


class Gap(Enum):
    """A value in a body that is another one each time."""

    REQUEST_ID = auto()
    AGE = auto()
    SECONDS = auto()
    BOUNDARY = auto()


class GappedBody(Struct, frozen=True):
    """The body of an answer, cut at the values that change."""

    pieces: Sequence[bytes]
    gaps: Sequence[Gap] = field(default=())  # between the pieces

    @classmethod
    def of(cls, body: bytes, request_id: str, repeatable: RepeatableAnswer) -> "GappedBody":
        """Request id and boundary are random, so nothing else in the body looks like them. Age and seconds
        follow names that are found from the end, after everything that comes from the page."""
        places = [
            (found.span(), Gap.REQUEST_ID) for found in re.finditer(re.escape(request_id.encode()), body)
        ]
        if repeatable.boundary:
            used = re.escape(repeatable.boundary.encode())
            places += [(found.span(), Gap.BOUNDARY) for found in re.finditer(used, body)]
        names = [(b'"cache":{"hit":true,"key":"%b","age":' % repeatable.part.key.encode(), Gap.AGE)]
        if repeatable.seconds_field:
            names.append((b'"%b":' % repeatable.seconds_field.encode(), Gap.SECONDS))
        for name, gap in names:
            at = body.rfind(name)
            if at >= 0 and (number := _NUMBER.match(body, at + len(name))) is not None:
                places.append((number.span(), gap))
        places.sort(key=lambda place: place[0])
        starts = [0, *(end for (_, end), _ in places)]
        ends = [*(start for (start, _), _ in places), len(body)]
        pieces = [body[start:end] for start, end in zip(starts, ends, strict=True)]
        return cls(pieces, [gap for _, gap in places])

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    def fill(self, request_id: str, age: float, seconds: float, new_boundary: NewText | None) -> bytes:
        if not self.gaps:
            return self.pieces[0]
        values = {
            Gap.REQUEST_ID: request_id.encode(),
            Gap.AGE: b"%d" % age,
            Gap.SECONDS: b"%a" % round(seconds, 3),
        }
        if new_boundary is not None:
            values[Gap.BOUNDARY] = new_boundary().encode()
        filled = [self.pieces[0]]
        for gap, piece in zip(self.gaps, self.pieces[1:], strict=True):
            filled += (values[gap], piece)
        return b"".join(filled)
