"""Learns which parameters do not change the content of a page.

Two copies of a page whose URLs differ in one parameter, or in a few, make these suspect. What is named and
looks like a session id always is, and near copies are enough to prove it. From then on, and in
what is remembered of the time before, every two URLs that differ in nothing else are evidence: the same
content is a proof, other content refutes. A parameter is ignored once there are enough proofs and nothing
refutes it:

    values that look drawn, under a name that session ids often have      2 proofs, on the whole host
    values that look drawn                                                3 proofs, on the whole host
    other values                                                          8 proofs, where they were found

Other values must be proven on three patterns before they are ignored on the whole host. A part of a path that
looks drawn is treated as a parameter. Ignored parameters are still tried now and then, ever more rarely; what
refutes them then ends it, and the URLs that were not followed are.
"""

from collections import OrderedDict, deque
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.crawl.fingerprint import is_near
from gossamer.web.crawl.traps.session_ids import may_be_session
from gossamer.web.crawl.traps.url_pattern import is_token, pairs_of
from gossamer.web.url.url import Url

SESSION_PROOFS: Final = 2
DRAWN_PROOFS: Final = 3
OTHER_PROOFS: Final = 8
MIN_VALUES: Final = 3
HOST_PATTERNS: Final = 3
MAX_SUSPECTS: Final = 16
MAX_TOGETHER: Final = 3  # parameters that change together
MAX_HISTORY: Final = 512
MAX_CONTENTS: Final = 4_096
MAX_GROUPS: Final = 2_048
MAX_PARKED: Final = 64


class UrlParts(NamedTuple):
    """A URL taken apart: its path, in which asterisks stand for what looks drawn, and all values."""

    path: str
    values: dict[str, str]


class LearnedParameter(Struct, frozen=True, kw_only=True):
    """Parameters that are ignored together."""

    names: tuple[str, ...]
    everywhere: bool = False
    patterns: tuple[str, ...] = ()  # of the paths, if not everywhere
    cut: int = 0
    parked: tuple[str, ...] = ()  # some URLs that were not followed


class Sight(NamedTuple):
    """A page that was seen."""

    parts: UrlParts
    pattern: str  # of its path
    content: int
    fingerprint: str


class _Suspect:
    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.groups: OrderedDict[int, tuple[int, str, int]] = OrderedDict()
        self.proofs: dict[str, int] = {}  # by pattern
        self.values: set[int] = set()
        self.are_drawn = True
        self.are_sessions = True
        self.is_refuted = False

    def see(self, sight: Sight) -> None:
        values, group = sight.parts.values, self.group_of(sight.parts)
        own = hash(tuple(values.get(name) for name in self.names))
        self._look_at(values)
        before = self.groups.get(group)
        if before is None:
            self.groups[group] = (sight.content, sight.fingerprint, own)
            if len(self.groups) > MAX_GROUPS:
                self.groups.popitem(last=False)
            return
        content, print_, first = before
        if own == first:
            return
        if content != sight.content:
            # What a session id does not change may still show the time of day.
            alike = self.are_drawn and is_near(print_, sight.fingerprint)
            if not (alike and self.are_sessions):
                self.is_refuted = not alike
                return
        self.proofs[sight.pattern] = self.proofs.get(sight.pattern, 0) + 1
        if len(self.values) < MIN_VALUES:
            self.values |= {first, own}

    def group_of(self, parts: UrlParts) -> int:
        """The URLs that differ in nothing else."""
        return hash((parts.path, tuple([pair for pair in parts.values.items() if pair[0] not in self.names])))

    def _look_at(self, values: dict[str, str]) -> None:
        for name in self.names:
            if (value := values.get(name)) is not None:
                self.are_drawn = self.are_drawn and is_token(value)
                self.are_sessions = self.are_sessions and may_be_session(name, value)

    @property
    def needed(self) -> int:
        if not self.are_drawn:
            return OTHER_PROOFS
        return SESSION_PROOFS if self.are_sessions else DRAWN_PROOFS

    def learned(self) -> LearnedParameter | None:
        if self.is_refuted or len(self.values) < min(self.needed, MIN_VALUES):
            return None
        names = tuple(sorted(self.names))
        if self.are_drawn:
            enough = sum(self.proofs.values()) >= self.needed
            return LearnedParameter(names=names, everywhere=True) if enough else None
        patterns = tuple(pattern for pattern, proofs in self.proofs.items() if proofs >= self.needed)
        if not patterns:
            return None
        everywhere = len(patterns) >= HOST_PATTERNS
        return LearnedParameter(names=names, everywhere=everywhere, patterns=() if everywhere else patterns)


class ParameterLearner:
    """What the pages of one host prove."""

    def __init__(self) -> None:
        self.learned: dict[frozenset[str], LearnedParameter] = {}
        self.retracted: list[str] = []  # URLs that were not followed and now should be
        self._suspects: dict[frozenset[str], _Suspect] = {}
        self._history: deque[Sight] = deque(maxlen=MAX_HISTORY)
        self._contents: OrderedDict[int, UrlParts] = OrderedDict()

    def see(self, sight: Sight) -> bool:
        """Learn from a page; returns whether that changed what is ignored."""
        changed = False
        first = self._contents.setdefault(sight.content, sight.parts)
        if len(self._contents) > MAX_CONTENTS:
            self._contents.popitem(last=False)
        if first is not sight.parts and first.path == sight.parts.path:
            self._suspect(first, sight.parts)
        for name, value in sight.parts.values.items():
            if may_be_session(name, value):
                self._add(frozenset((name,)))
        for suspect in self._suspects.values():
            if not suspect.is_refuted:
                suspect.see(sight)
                changed = self._conclude(suspect) or changed
        self._history.append(sight)
        return changed

    def ignored(self, pattern: str) -> frozenset[str]:
        """The names that are ignored in URLs whose path has this pattern."""
        names = [each for each, rule in self.learned.items() if rule.everywhere or pattern in rule.patterns]
        return frozenset().union(*names) if names else frozenset()

    def has_seen(self, names: frozenset[str], sight: UrlParts) -> bool:
        """Whether a page was seen whose URL differs only in these names."""
        suspect = self._suspects.get(names)
        return suspect is not None and suspect.group_of(sight) in suspect.groups

    def count(self, names: frozenset[str], url: str) -> bool:
        """Count a URL that is one with others because of these; returns whether it is tried all the same."""
        for each, rule in self.learned.items():
            if each & names:
                cut = rule.cut + 1
                parked = (*rule.parked, url) if len(rule.parked) < MAX_PARKED else rule.parked
                self.learned[each] = replace(rule, cut=cut, parked=parked)
                return cut >= 4 and not cut & (cut - 1)  # the fourth, the eighth, the sixteenth …
        return False

    def _suspect(self, one: UrlParts, other: UrlParts) -> None:
        names = frozenset(
            name for name in one.values.keys() | other.values.keys()
            if one.values.get(name) != other.values.get(name)
        )  # fmt: skip
        if 1 <= len(names) <= MAX_TOGETHER:
            self._add(names)

    def _add(self, names: frozenset[str]) -> None:
        if names in self._suspects:
            return
        if len(self._suspects) >= MAX_SUSPECTS and not self._forget():
            return
        suspect = self._suspects[names] = _Suspect(names)
        for sight in self._history:
            suspect.see(sight)

    def _forget(self) -> bool:
        """Make room by forgetting a refuted one; it would be refuted again."""
        for names, suspect in self._suspects.items():
            if suspect.is_refuted:
                del self._suspects[names]
                return True
        return False

    def _conclude(self, suspect: _Suspect) -> bool:
        before = self.learned.get(suspect.names)
        if suspect.is_refuted:
            if before is None:
                return False
            del self.learned[suspect.names]
            self.retracted += before.parked
            return True
        found = suspect.learned()
        if found is None or (before is not None and _reach(before) == _reach(found)):
            return False
        kept = before or found
        self.learned[suspect.names] = replace(
            kept,
            everywhere=found.everywhere or kept.everywhere,
            patterns=tuple(sorted({*found.patterns, *kept.patterns})),
        )
        return True


def _reach(rule: LearnedParameter) -> tuple[bool, frozenset[str]]:
    return rule.everywhere, frozenset(rule.patterns)


def parts_of(url: Url, *, has_drawn: bool) -> UrlParts:
    """`has_drawn`: a part of its path looks drawn."""
    path, values = url.path, dict[str, str]()
    if has_drawn:
        path, values = _mask_path(path)
    for name, value in pairs_of(url.query) if url.query else ():
        values[name] = f"{values[name]}&{value}" if name in values else value
    return UrlParts(path, dict(sorted(values.items())))


def without(url: Url, names: frozenset[str]) -> Url:
    """The URL without these; only to be identified by, not to be fetched."""
    path, query = url.path, url.query
    if any(name.startswith("/") for name in names):
        path, drawn = _mask_path(path, names)
        if not drawn:
            path = url.path
    if query:
        pieces = query.split("&")
        kept = [piece for piece in pieces if piece and pairs_of(piece)[0][0] not in names]
        query = query if len(kept) == len(pieces) else "&".join(kept)
    if path == url.path and query == url.query:
        return url
    return url.at(path, query)


def _mask_path(path: str, names: frozenset[str] | None = None) -> tuple[str, dict[str, str]]:
    """Asterisks in place of what looks drawn, and what that was, by the path up to there."""
    values: dict[str, str] = {}
    masked = ""
    for part in path[1:].split("/"):
        name = f"{masked}/*"
        if is_token(part) and (names is None or name in names):
            values[name] = part
            masked = name
        else:
            masked = f"{masked}/{part}"
    return masked, values
