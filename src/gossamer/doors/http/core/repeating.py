"""Answers that can be given again without being made again, because they were made from something in Hot."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from gossamer.flows.render.serve import HotPage
from gossamer.web.pages.cache_options import CachePart
from gossamer.web.render.request import RenderRequest

NewText = Callable[[], str]


class RepeatableRender(NamedTuple):
    """A rendered page of the hot tier."""

    page: HotPage
    request: RenderRequest


@dataclass(slots=True)
class RepeatableAnswer:
    """An answer of the cache."""

    part: CachePart
    max_age: float | None
    boundary: str = ""  # in the body
    new_boundary: NewText | None = None


class Gap(Enum):
    """A value in a body that is another one each time."""

    REQUEST_ID = auto()
    AGE = auto()
    BOUNDARY = auto()


@dataclass(frozen=True, slots=True)
class GappedBody:
    """The body of an answer, cut at the values that change."""

    pieces: Sequence[bytes]
    gaps: Sequence[Gap] = field(default=())  # between the pieces

    @classmethod
    def of(cls, body: bytes, request_id: str, repeatable: RepeatableAnswer) -> "GappedBody":
        """Request id and boundary are random, so nothing else in the body looks like them. The age follows
        the answer's key, at the end."""
        places = [
            (found.span(), Gap.REQUEST_ID) for found in re.finditer(re.escape(request_id.encode()), body)
        ]
        if repeatable.boundary:
            used = re.escape(repeatable.boundary.encode())
            places += [(found.span(), Gap.BOUNDARY) for found in re.finditer(used, body)]
        about = b'"cache":{"hit":true,"key":"%b","age":' % repeatable.part.key.encode()
        at = body.rfind(about)
        if at >= 0 and (age := re.compile(rb"[0-9]+").match(body, at + len(about))) is not None:
            places.append((age.span(), Gap.AGE))
        places.sort()
        starts = [0, *(end for (_, end), _ in places)]
        ends = [*(start for (start, _), _ in places), len(body)]
        pieces = [body[start:end] for start, end in zip(starts, ends, strict=True)]
        return cls(pieces, [gap for _, gap in places])

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    def fill(self, request_id: str, age: float, new_boundary: NewText | None) -> bytes:
        if not self.gaps:
            return self.pieces[0]
        values = {Gap.REQUEST_ID: request_id.encode(), Gap.AGE: b"%d" % age}
        if new_boundary is not None:
            values[Gap.BOUNDARY] = new_boundary().encode()
        filled = [self.pieces[0]]
        for gap, piece in zip(self.gaps, self.pieces[1:], strict=True):
            filled += (values[gap], piece)
        return b"".join(filled)
