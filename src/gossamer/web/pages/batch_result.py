"""BatchResult: the result for one URL of a batch."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.web.pages.read_result import FetchAnswer


class BatchProblem(Struct, frozen=True, rename="camel"):
    """Why a page could not be fetched."""

    code: Annotated[str, Meta(description="The code that /fetch would have answered with.")]
    message: str
    reason: Annotated[str | UnsetType, Meta(description="The precise reason.")] = UNSET
    hint: str | UnsetType = UNSET


class BatchResult(Struct, frozen=True, rename="camel"):
    """The result for one URL."""

    index: Annotated[int, Meta(ge=0, description="The position in `urls`.")]
    url: Annotated[str, Meta(description="As it was given.")]
    status: Annotated[
        Literal["done", "failed"], Meta(description="`done`: the target answered; see `result.outcome`.")
    ]
    result: Annotated[FetchAnswer | UnsetType, Meta(description="What /fetch would have answered.")] = UNSET
    problem: BatchProblem | UnsetType = UNSET
