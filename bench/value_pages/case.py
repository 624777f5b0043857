"""ValueCase: a page, what is asked of it, and what a person would answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gossamer.web.extract.extraction import extract_data
from gossamer.web.extract.schema import schema
from gossamer.web.pages.page import Page

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
WHOLE: dict[str, Any] = {"type": "integer"}
FLAG: dict[str, Any] = {"type": "boolean"}
DATE: dict[str, Any] = {"type": "string", "format": "date"}
LINK: dict[str, Any] = {"type": "string", "format": "uri"}
MAIL: dict[str, Any] = {"type": "string", "format": "email"}

Leaf = tuple[str, Any]  # where it is in the data, and what it is


@dataclass(frozen=True, slots=True)
class ValueCase:
    name: str
    wanted: dict[str, Any]  # the properties of the schema
    truth: dict[str, Any]  # None for what the page does not say
    html: str
    language: str = "en"

    def extract(self) -> Any:
        html = f'<!doctype html><html lang="{self.language}">{self.html}</html>'
        url = f"https://site.example/{self.name}"
        page = Page(
            url=url,
            final_url=url,
            status=200,
            headers=(),
            body=html.encode(),
            media_type="text/html",
            charset="utf-8",
        )
        given = {"type": "object", "properties": self.wanted}
        return extract_data(page, schema.read(given).document, with_text=False).data


@dataclass(frozen=True, slots=True)
class ValueScore:
    right: int = 0
    wrong: int = 0
    missing: int = 0

    @property
    def total(self) -> int:
        return self.right + self.wrong + self.missing

    def __add__(self, other: "ValueScore") -> "ValueScore":
        return ValueScore(self.right + other.right, self.wrong + other.wrong, self.missing + other.missing)


def judge(truth: Any, data: Any) -> tuple[ValueScore, list[str]]:
    """The score, and a line about each value that is not right."""
    known, found = dict(leaves(truth)), dict(leaves(data))
    score, faults = ValueScore(), []
    for at in dict.fromkeys((*known, *found)):
        wanted, made = known.get(at), found.get(at)
        if made == wanted:
            score += ValueScore(right=1)
            continue
        score += ValueScore(missing=1) if made is None else ValueScore(wrong=1)
        faults.append(f"{at}: {made!r} instead of {wanted!r}")
    return score, faults


def leaves(value: Any, at: str = "") -> Iterator[Leaf]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, f"{at}/{name}")
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from leaves(one, f"{at}/{place}")
    else:
        yield at, value


def listed(**members: Any) -> dict[str, Any]:
    """The schema of a list of objects."""
    return {"type": "array", "items": {"type": "object", "properties": members}}
