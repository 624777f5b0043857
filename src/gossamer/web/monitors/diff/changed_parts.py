"""Changed parts: the difference of two snapshots as each rule of a monitor sees it."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from gossamer.web.monitors.diff.text_diff import TextDiff
from gossamer.web.monitors.diff.writing import hunks, markdown, unified
from gossamer.web.monitors.monitor_answer import ChangedPart, DiffFormat
from gossamer.web.monitors.rules.change_rule import ChangeRule, FieldsRule, SelectorRule
from gossamer.web.monitors.rules.comparing import SnapshotComparison
from gossamer.web.monitors.rules.field_changes import FieldChange

CONTEXT = 3  # unchanged lines around a change


def changed_parts(
    comparison: SnapshotComparison, rules: Sequence[ChangeRule], form: DiffFormat = "json"
) -> tuple[ChangedPart, ...]:
    """The text is always shown, whatever the rules watch; other parts if they differ."""
    text = next((number for number, rule in enumerate(rules) if rule.__struct_config__.tag == "text"), -1)
    parts = [_text_part(text, "Text", comparison.text_diff(), form)]
    parts += _other_parts(comparison, rules, form)
    return tuple(part for part in parts if part.rows or part.fields or part.text)


def _other_parts(
    comparison: SnapshotComparison, rules: Sequence[ChangeRule], form: DiffFormat
) -> Iterator[ChangedPart]:
    for number, rule in enumerate(rules):
        if isinstance(rule, SelectorRule):
            yield _text_part(number, rule.selector, comparison.part_diff(rule.selector), form)
        elif isinstance(rule, FieldsRule):
            yield _fields_part(number, comparison.field_diff(number, rule), form)


def _text_part(number: int, title: str, diff: TextDiff, form: DiffFormat) -> ChangedPart:
    if form == "unified":
        return ChangedPart(number, title, text=unified(diff.rows))
    if form == "markdown":
        return ChangedPart(number, title, text=markdown(diff.rows))
    shown = [row for hunk in hunks(diff.rows, CONTEXT, noisy=True) for row in hunk.rows]
    return ChangedPart(number, title, rows=tuple(shown))


def _fields_part(number: int, found: Sequence[FieldChange], form: DiffFormat) -> ChangedPart:
    if form == "json" or not found:
        return ChangedPart(number, "Fields", fields=tuple(found))
    lines = [_field_line(change, form) for change in found]
    return ChangedPart(number, "Fields", text="\n".join(lines) + "\n" if lines else UNSET)


def _field_line(change: FieldChange, form: DiffFormat) -> str:
    old, new = (
        "" if value is None else msgspec.json.encode(value).decode() for value in (change.old, change.new)
    )
    if form == "unified":
        removed, added = (
            [f"-{change.field}: {old}"] if old else [],
            [f"+{change.field}: {new}"] if new else [],
        )
        return "\n".join([*removed, *added])
    marked = " ".join(filter(None, (f"~~{old}~~" if old else "", f"**{new}**" if new else "")))
    return f"- `{change.field}`: {marked}"
