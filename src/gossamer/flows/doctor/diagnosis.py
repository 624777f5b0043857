"""Diagnoses: what was found about one part of an installation, and what would help."""

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta


class Condition(StrEnum):
    OK = "ok"
    COULD_BE_BETTER = "could_be_better"  # it works, and an operator should know
    BROKEN = "broken"  # something does not work


class Diagnosis(msgspec.Struct, frozen=True, rename="camel"):
    """What was found about one part."""

    subject: str
    condition: Condition
    finding: str
    advice: Annotated[str, Meta(description="What to do; empty if all is well.")] = ""


_ORDER: Final = {condition: place for place, condition in enumerate(Condition)}


def ok(subject: str, finding: str) -> Diagnosis:
    return Diagnosis(subject, Condition.OK, finding)


def improvable(subject: str, finding: str, advice: str) -> Diagnosis:
    return Diagnosis(subject, Condition.COULD_BE_BETTER, finding, advice)


def broken(subject: str, finding: str, advice: str) -> Diagnosis:
    return Diagnosis(subject, Condition.BROKEN, finding, advice)


def worst(diagnoses: list[Diagnosis]) -> Condition:
    return max((one.condition for one in diagnoses), key=_ORDER.__getitem__, default=Condition.OK)
