"""Form: what somebody typed into a page, and what was wrong with it."""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.problems import Problem, validation_error

T = TypeVar("T")
_UNSEEN: Final = frozenset({"csrf", "once"})  # fields that carry tokens
_ON: Final = "on"


class Form(Struct, frozen=True):
    """The fields of a form by name, as they were typed; and the problem, if it was refused."""

    values: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None
    action: str = ""  # the address that it was sent to

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    def get(self, name: str, default: str = "") -> str:
        """What was typed, or what the page proposes."""
        return self.values.get(name, default)

    def is_on(self, name: str, default: bool = False) -> bool:
        """Whether a checkbox is ticked. A form that was sent without it has it off."""
        return self.values.get(name) == _ON if self.values else default

    def lines(self, name: str) -> list[str]:
        return [line.strip() for line in self[name].splitlines() if line.strip()]

    def refused(self, problem: Problem) -> "Form":
        return replace(self, problem=problem)

    def to(self, shape: type[T], **more: object) -> T:
        """The fields as a value of this type; fields left empty have their defaults."""
        typed = {name: text for name, text in self.values.items() if text and name not in _UNSEEN}
        try:
            return msgspec.convert({**typed, **more}, shape, strict=False)
        except msgspec.ValidationError as error:
            raise validation_error(str(error), hint="Correct the field and send the form again.") from None


NO_FORM: Final = Form()
