"""Comparing: what the rules of a monitor say about two snapshots of a page."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.web.monitors.diff.text_diff import DiffRow, RowKind, TextDiff, diff_texts
from gossamer.web.monitors.noise.masks import plain_line
from gossamer.web.monitors.noise.noise_kind import ALL_NOISE, NoiseOptions
from gossamer.web.monitors.noise.noise_lines import SeenText
from gossamer.web.monitors.page_snapshot import PageSnapshot
from gossamer.web.monitors.rules.amounts import amount_after, amount_in
from gossamer.web.monitors.rules.change_reason import (
    ChangeReason,
    IgnoredNoise,
    ReasonKind,
    ReasonValue,
    shown,
)
from gossamer.web.monitors.rules.change_rule import (
    AppearanceRule,
    ChangeRule,
    FieldsRule,
    KeywordsRule,
    NumberRule,
    SelectorRule,
    StatusRule,
    TextRule,
)
from gossamer.web.monitors.rules.field_changes import FieldChange, field_changes

MAX_REASONS: Final = 50
_WORD: Final = re.compile(r"\w+")
_TEXT_KINDS: Final = {
    RowKind.ADDED: ReasonKind.TEXT_ADDED,
    RowKind.REMOVED: ReasonKind.TEXT_REMOVED,
    RowKind.CHANGED: ReasonKind.TEXT_CHANGED,
}
_ONLY: Final = {
    "any": (RowKind.ADDED, RowKind.REMOVED, RowKind.CHANGED),
    "added": (RowKind.ADDED, RowKind.CHANGED),
    "removed": (RowKind.REMOVED, RowKind.CHANGED),
}


class ChangeVerdict(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What the rules say: every reason to fire, and what was ignored as noise."""

    reasons: tuple[ChangeReason, ...] = ()
    ignored: tuple[IgnoredNoise, ...] = ()
    left_out: int = 0  # reasons beyond the most that are kept

    @property
    def is_change(self) -> bool:
        return bool(self.reasons)


class SnapshotComparison(Struct, frozen=True):
    """Two snapshots of a page, and how they are compared."""

    old: PageSnapshot
    new: PageSnapshot
    noise: NoiseOptions = ALL_NOISE
    differing_share: float | None = None  # of the pixels, if screenshots were compared

    def judge(self, rules: Sequence[ChangeRule]) -> ChangeVerdict:
        reasons: list[ChangeReason] = []
        ignored: list[DiffRow] = []
        is_read = self.old.is_read and self.new.is_read and self.new.is_good
        for number, rule in enumerate(rules):
            if not is_read and not isinstance(rule, StatusRule):
                continue  # an error page says nothing about the page
            if isinstance(rule, TextRule | SelectorRule):
                diff = self.text_diff() if isinstance(rule, TextRule) else self.part_diff(rule.selector)
                reasons += _text_reasons(number, rule, diff)
                ignored += diff.ignored
            else:
                reasons += self._reasons(number, rule)
        return ChangeVerdict(
            tuple(reasons[:MAX_REASONS]), _summarised(ignored), max(0, len(reasons) - MAX_REASONS)
        )

    def anchors(self, rules: Sequence[ChangeRule], verdict: ChangeVerdict) -> dict[str, float]:
        """What numbers are compared with from now on: a slow drift adds up until it is told."""
        told = {reason.rule for reason in verdict.reasons if reason.kind is ReasonKind.NUMBER_CHANGED}
        found: dict[str, float] = {}
        for number, rule in enumerate(rules):
            if isinstance(rule, NumberRule) and rule.is_relative:
                now = amount_of(self.new, number, rule)
                known = now if number in told else self._anchor(number, rule)
                if known is not None or now is not None:
                    found[str(number)] = now if known is None else known  # type: ignore[assignment]
        return found

    def _anchor(self, number: int, rule: NumberRule) -> float | None:
        known = self.old.anchors.get(str(number))
        return amount_of(self.old, number, rule) if known is None else known

    def text_diff(self) -> TextDiff:
        """Of the titles and the texts."""
        return diff_texts(_seen(self.old), _seen(self.new), self.noise)

    def part_diff(self, selector: str) -> TextDiff:
        old, new = (SeenText(one.parts.get(selector, ""), one.taken_at) for one in (self.old, self.new))
        return diff_texts(old, new, self.noise)

    def field_diff(self, number: int, rule: FieldsRule) -> list[FieldChange]:
        found = field_changes(
            self.old.fields.get(str(number)),
            self.new.fields.get(str(number)),
            order_matters=not self.noise.order,
        )
        return [change for change in found if not set(change.field.split("/")) & set(rule.ignore)]

    def _reasons(self, number: int, rule: ChangeRule) -> Iterator[ChangeReason]:
        if isinstance(rule, FieldsRule):
            for change in self.field_diff(number, rule):
                yield ChangeReason(
                    kind=ReasonKind(f"field_{change.kind}"),
                    rule=number,
                    at=change.field,
                    old=_simple(change.old),
                    new=_simple(change.new),
                )
        elif isinstance(rule, NumberRule):
            yield from self._number_reasons(number, rule)
        elif isinstance(rule, KeywordsRule):
            yield from self._keyword_reasons(number, rule)
        elif isinstance(rule, StatusRule):
            yield from self._status_reasons(number)
        elif isinstance(rule, AppearanceRule) and (self.differing_share or 0) >= rule.share:
            yield ChangeReason(
                kind=ReasonKind.APPEARANCE_CHANGED,
                rule=number,
                old=0.0,
                new=round(self.differing_share or 0, 6),
            )

    def _number_reasons(self, number: int, rule: NumberRule) -> Iterator[ChangeReason]:
        """Limits are told when they are crossed, not as long as they stay so."""
        old, new = amount_of(self.old, number, rule), amount_of(self.new, number, rule)
        if old is None or new is None:
            return
        anchor = self._anchor(number, rule) if rule.is_relative else old
        crossed = (
            (rule.below is not None and new < rule.below <= old, ReasonKind.NUMBER_BELOW),
            (rule.above is not None and new > rule.above >= old, ReasonKind.NUMBER_ABOVE),
            (anchor is not None and _differs(anchor, new, rule), ReasonKind.NUMBER_CHANGED),
        )
        where = rule.selector or rule.after or rule.field or ""
        for fires, kind in crossed:
            if fires:
                since = anchor if kind is ReasonKind.NUMBER_CHANGED else old
                yield ChangeReason(kind=kind, rule=number, at=where, old=since, new=new)

    def _keyword_reasons(self, number: int, rule: KeywordsRule) -> Iterator[ChangeReason]:
        before, after = _searchable(self.old), _searchable(self.new)
        for word in rule.appear:
            if _has(after, word) and not _has(before, word):
                yield ChangeReason(kind=ReasonKind.KEYWORD_APPEARED, rule=number, at=word)
        for word in rule.disappear:
            if _has(before, word) and not _has(after, word):
                yield ChangeReason(kind=ReasonKind.KEYWORD_DISAPPEARED, rule=number, at=word)

    def _status_reasons(self, number: int) -> Iterator[ChangeReason]:
        old, new = self.old, self.new
        if old.status != new.status:
            yield ChangeReason(
                kind=ReasonKind.STATUS_CHANGED, rule=number, old=old.status or None, new=new.status or None
            )
        if _state_of(old) != _state_of(new):
            yield ChangeReason(
                kind=ReasonKind.OUTCOME_CHANGED, rule=number, old=_state_of(old), new=_state_of(new)
            )


def amount_of(snapshot: PageSnapshot, number: int, rule: NumberRule) -> float | None:
    """The number that a rule watches, if the page has it."""
    if rule.selector is not None:
        return amount_in(snapshot.parts.get(rule.selector, ""), snapshot.language)
    if rule.after is not None:
        return amount_after(f"{snapshot.text}\n{snapshot.rest}", rule.after, snapshot.language)
    value = (snapshot.fields.get(str(number)) or {}).get(rule.field)
    if isinstance(value, str):
        return amount_in(value, snapshot.language)
    return float(value) if isinstance(value, int | float) else None


def _differs(old: float, new: float, rule: NumberRule) -> bool:
    if rule.is_any:
        return old != new
    by, percent = rule.changes_by, rule.changes_by_percent
    if by is not None and abs(new - old) >= by:
        return True
    return percent is not None and abs(new - old) * 100 >= percent * abs(old)


def _text_reasons(number: int, rule: TextRule | SelectorRule, diff: TextDiff) -> Iterator[ChangeReason]:
    rows = [row for row in diff.changes if row.kind in _ONLY[rule.only]]
    if isinstance(rule, TextRule) and sum(_differing_words(row) for row in rows) < rule.min_words:
        return
    at = rule.selector if isinstance(rule, SelectorRule) else ""
    for row in rows:
        yield ChangeReason(
            kind=_TEXT_KINDS[row.kind], rule=number, at=at, old=shown(row.old), new=shown(row.new)
        )


def _differing_words(row: DiffRow) -> int:
    old, new = (set(_WORD.findall(text or "")) for text in (row.old, row.new))
    return max(1, len(old ^ new))


def _summarised(rows: Sequence[DiffRow]) -> tuple[IgnoredNoise, ...]:
    found: dict[str, IgnoredNoise] = {}
    for row in rows:
        for noise in row.noise:
            known = found.get(noise)
            found[noise] = (
                IgnoredNoise(noise=noise, count=1, old=shown(row.old), new=shown(row.new))
                if known is None
                else msgspec.structs.replace(known, count=known.count + 1)
            )
    return tuple(found.values())


def _seen(snapshot: PageSnapshot) -> SeenText:
    """The title is the first line."""
    if not snapshot.title:
        return SeenText(snapshot.text, snapshot.taken_at, snapshot.headings, snapshot.rest)
    shift = len(snapshot.title) + 1
    return SeenText(
        f"{snapshot.title}\n{snapshot.text}",
        snapshot.taken_at,
        [place + shift for place in snapshot.headings],
        snapshot.rest,
    )


def _searchable(snapshot: PageSnapshot) -> str:
    lines = (snapshot.title, snapshot.text, snapshot.rest, *snapshot.parts.values())
    return plain_line(" ".join(lines)).casefold()


def _has(text: str, word: str) -> bool:
    """Whole words only, where words are divided."""
    wanted = plain_line(word).casefold()
    first = r"\b" if wanted[:1].isascii() and wanted[:1].isalnum() else ""
    last = r"\b" if wanted[-1:].isascii() and wanted[-1:].isalnum() else ""
    return bool(wanted) and re.search(f"{first}{re.escape(wanted)}{last}", text) is not None


def _state_of(snapshot: PageSnapshot) -> str:
    return snapshot.outcome.value if snapshot.outcome is not None else snapshot.problem


def _simple(value: Any) -> ReasonValue:
    if isinstance(value, str):
        return shown(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return shown(msgspec.json.encode(value).decode())
