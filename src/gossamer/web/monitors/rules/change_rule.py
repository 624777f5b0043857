"""ChangeRule: what counts as a change. A monitor fires if one of its rules does."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from gossamer.problems import validation_error
from gossamer.web.extract.schema import schema
from gossamer.web.extract.schema.schema import Schema, schema_of
from gossamer.web.pages.extract_request import MAX_FIELDS, FieldHint, FieldName
from gossamer.web.pages.page_request import Selector

MAX_RULES: Final = 10
MAX_PHRASES: Final = 50
MAX_REGIONS: Final = 50
MAX_SIDE: Final = 16_384  # pixels

Phrase = Annotated[str, Meta(min_length=1, max_length=200)]
Phrases = Annotated[tuple[Phrase, ...], Meta(max_length=MAX_PHRASES)]
Only = Annotated[
    Literal["any", "added", "removed"], Meta(description="Which lines count: all, only new, only gone ones.")
]


class _Rule(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename="camel",
    tag_field="kind",
):
    """What all rules have in common."""


class TextRule(_Rule, frozen=True, tag="text"):
    """The text of the main content, without noise."""

    only: Only = "any"
    min_words: Annotated[int, Meta(ge=1, le=10_000, description="Words that must differ, at least.")] = 1


class SelectorRule(_Rule, frozen=True, tag="selector"):
    """The text at a CSS selector, without noise."""

    selector: Selector
    only: Only = "any"


class FieldsRule(_Rule, frozen=True, tag="fields"):
    """Data that is extracted from the page, field by field."""

    schema: Annotated[dict[str, Any] | None, Meta(description="JSON Schema, as /extract takes it.")] = None
    fields: Annotated[
        Annotated[list[FieldName], Meta(min_length=1, max_length=MAX_FIELDS)]
        | Annotated[dict[FieldName, FieldHint], Meta(min_length=1, max_length=MAX_FIELDS)]
        | None,
        Meta(description="Names, or names with a type each, as /extract takes them."),
    ] = None
    ignore: Annotated[
        tuple[FieldName, ...], Meta(max_length=MAX_FIELDS, description="Fields that may change.")
    ] = ()

    @property
    def data_schema(self) -> Schema:
        """Raises `Problem` for a schema that cannot be used."""
        if (self.schema is None) == (self.fields is None):
            raise validation_error("A rule of kind `fields` needs `schema` or `fields`, and not both.")
        return schema.read(self.schema if self.schema is not None else schema_of(self.fields or []))


class NumberRule(_Rule, frozen=True, tag="number"):
    """A price or another number: where it is, and when to tell."""

    selector: Annotated[Selector | None, Meta(description="CSS selector of the element that has it.")] = None
    after: Annotated[Phrase | None, Meta(description="Or the words before it.")] = None
    field: Annotated[FieldName | None, Meta(description="Or the field to extract: `price`.")] = None
    below: Annotated[float | None, Meta(description="Tell when it falls below this.")] = None
    above: Annotated[float | None, Meta(description="Tell when it rises above this.")] = None
    changes_by: Annotated[
        Annotated[float, Meta(gt=0)] | None, Meta(description="Tell when it differs by at least this.")
    ] = None
    changes_by_percent: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="Tell when it differs by at least this many per cent."),
    ] = None

    def check(self) -> None:
        places = [place for place in (self.selector, self.after, self.field) if place is not None]
        if len(places) != 1:
            raise validation_error(
                "A rule of kind `number` needs one of `selector`, `after` and `field`.",
                hint="Say where the number is.",
            )

    @property
    def is_relative(self) -> bool:
        """Whether it is compared with the number that was last told."""
        return self.changes_by is not None or self.changes_by_percent is not None

    @property
    def is_any(self) -> bool:
        """Whether every other number counts."""
        limits = (self.below, self.above, self.changes_by, self.changes_by_percent)
        return all(limit is None for limit in limits)


class KeywordsRule(_Rule, frozen=True, tag="keywords"):
    """Words or phrases that appear or disappear, anywhere on the page."""

    appear: Phrases = ()
    disappear: Phrases = ()

    def check(self) -> None:
        if not self.appear and not self.disappear:
            raise validation_error("A rule of kind `keywords` needs `appear` or `disappear`.")


class StatusRule(_Rule, frozen=True, tag="status"):
    """The status or the outcome: here, errors, captchas and log-ins are what is watched for."""


class PageRegion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rectangle of a screenshot, in pixels of the page."""

    left: Annotated[int, Meta(ge=0, le=MAX_SIDE)]
    top: Annotated[int, Meta(ge=0, le=MAX_SIDE)]
    width: Annotated[int, Meta(ge=1, le=MAX_SIDE)]
    height: Annotated[int, Meta(ge=1, le=MAX_SIDE)]


class AppearanceRule(_Rule, frozen=True, tag="appearance"):
    """What the page looks like: the share of pixels that differ."""

    share: Annotated[float, Meta(gt=0, le=1, description="Of the pixels that must differ, at least.")] = 0.01
    tolerance: Annotated[
        int, Meta(ge=0, le=255, description="How far a colour may differ: for anti-aliasing and noise.")
    ] = 24
    ignore: Annotated[
        tuple[PageRegion, ...], Meta(max_length=MAX_REGIONS, description="Regions that may differ.")
    ] = ()
    hide: Annotated[
        tuple[Selector, ...],
        Meta(max_length=MAX_REGIONS, description="CSS selectors of elements that may differ."),
    ] = ()
    selector: Annotated[Selector | None, Meta(description="Only this element.")] = None
    full_page: bool = False


ChangeRule = TextRule | SelectorRule | FieldsRule | NumberRule | KeywordsRule | StatusRule | AppearanceRule
ChangeRules = Annotated[
    tuple[ChangeRule, ...],
    Meta(min_length=1, max_length=MAX_RULES, description="What counts as a change: any of these."),
]


def check_rules(rules: tuple[ChangeRule, ...]) -> None:
    """Raise `Problem` for rules that say nothing, or that cannot be used."""
    for rule in rules:
        if isinstance(rule, NumberRule | KeywordsRule):
            rule.check()
        elif isinstance(rule, FieldsRule):
            _ = rule.data_schema
    if sum(isinstance(rule, AppearanceRule) for rule in rules) > 1:
        raise validation_error("A monitor has at most one rule of kind `appearance`.")
