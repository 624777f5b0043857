"""Makes the brief of a page: SectionPicker chooses what to keep of it, within a budget.

The unit is a passage: at most some hundred tokens of a section. Those of the lead come first. Without a query
the first passage of each section follows, then the second of each, and so on. With a query, those that it is
about follow, then the others.
"""

from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.web.content.brief import Brief, LeftOut, envelop
from gossamer.web.content.marked import BOUNDARY_CHARS
from gossamer.web.content.ranking import PassageText, rank
from gossamer.web.content.references import References, without_references
from gossamer.web.content.sections import (
    Cuttable,
    Section,
    cuttable,
    cuttable_at_last,
    passages_of,
    sections_of,
)
from gossamer.web.content.tokens import GAP, count, to_tokens, weigh
from gossamer.web.html.elements.visibility import strip_invisible

MAX_HEADING_CHARS: Final = 200
ELLIPSIS: Final = "[…]"  # where a section is cut
NAMES: Final = 16  # the part of the budget that the names of what was left out may take
PASSAGE: Final = 30_000  # hundredths of a token, and never more than a quarter of the budget
_DEEPEST: Final = 7  # below every heading
MAX_LISTED_SECTIONS: Final = 500  # that were left out
_SAMPLE: Final = "x" * BOUNDARY_CHARS
_ENVELOPE: Final = GAP + weigh(
    envelop(Brief(text="", tokens=0, sections_left_out=10**7, tokens_left_out=10**7), _SAMPLE)
)


def brief_of(markdown: str, url: str, max_tokens: int, query: str = "") -> Brief:
    references = References(url.partition("#")[0])
    sections = sections_of(references.rewrite(strip_invisible(markdown)))
    picker = SectionPicker(sections, references, max_tokens * 100 - _ENVELOPE)
    if query:
        picker.prefer(query)
    picker.pick()
    left_out = picker.left_out()
    brief = Brief(
        text=picker.text(),
        tokens=0,
        left_out=tuple(left_out[:MAX_LISTED_SECTIONS]),
        sections_left_out=len(left_out),
        tokens_left_out=sum(one.tokens for one in left_out),
        names=picker.names(left_out),
    )
    return replace(brief, tokens=count(envelop(brief, _SAMPLE)))


class SectionPicker(Struct):
    sections: list[Section]
    references: References
    room: int  # in hundredths of a token
    kept: dict[int, list[str]] = field(default_factory=dict)  # by section: its blocks, or the first of them
    listed: set[int] = field(default_factory=set)  # numbers of references
    _room_for_names: int = 0
    _is_shared: bool = False  # no section is kept with a hole in it
    _order: list[int] = field(default_factory=list)  # in which they are chosen, if not that of the page
    _weights: dict[str, int] = field(default_factory=dict)

    def prefer(self, query: str) -> None:
        """Choose the passages first that a query is about. If there are none, nothing changes."""
        most = min(PASSAGE, self.room // 4)
        passages = [part for section in self.sections for part in passages_of(section, most, self._weigh)]
        matching = rank(list(map(_text, passages, _parents(passages))), query)
        if matching:
            self.sections = passages
            self._order = list(dict.fromkeys([*_lead(passages), *matching, *range(len(passages))]))

    def pick(self) -> None:
        if not self._fits():
            self._room_for_names = self.room // NAMES
            self.room -= self._room_for_names
            if not self._order:
                self._share()
        parents = _parents(self.sections)
        order = self._order or range(len(self.sections))
        for at in order:
            if not (self._is_shared and self.sections[at].continues and at - 1 not in self.kept):
                self._keep_whole(at, self.sections[at], parents)
        for at in order:
            if self._is_incomplete(at):
                self._keep_beginning(at, self.sections[at], parents)
                break

    def _fits(self) -> bool:
        blocks = [block for section in self.sections for block in section.blocks]
        return self._price(blocks, self._numbers(blocks)) <= self.room

    def _share(self) -> None:
        """Choose how each section begins before more of any."""
        most = min(PASSAGE, self.room // 8)
        self.sections = [part for one in self.sections for part in passages_of(one, most, self._weigh)]
        turns: list[int] = []  # of each passage: which one of its section it is
        for passage in self.sections:
            turns.append(turns[-1] + 1 if passage.continues else 0)
        by_turn = sorted(range(len(turns)), key=turns.__getitem__)
        self._order = list(dict.fromkeys([*_lead(self.sections), *by_turn]))
        self._is_shared = True

    def names(self, left_out: list[LeftOut]) -> str:
        """Name what was left out with its tokens, the first sections first."""
        names, fitting = "Left out:", ""
        for one in left_out:
            names += f"{',' if fitting else ''} {one.heading or 'the beginning'} ({one.tokens})"
            if weigh(names) + GAP > self._room_for_names:
                break
            fitting = names
        return fitting

    def text(self) -> str:
        blocks = [block for at in sorted(self.kept) for block in self._blocks_of(at)]
        lines = [self.references.lines[number] for number in sorted(self.listed)]
        return "\n\n".join([*blocks, "\n".join(lines)] if lines else blocks)

    def left_out(self) -> list[LeftOut]:
        """The sections of which something is missing, whatever passages they have."""
        missing: dict[int, int] = {}
        whole = 0
        for at, section in enumerate(self.sections):
            whole = whole if section.continues else at
            if self._is_incomplete(at):
                missing[whole] = missing.get(whole, 0) + self._missing(at)
        return [
            LeftOut(without_references(section.heading)[:MAX_HEADING_CHARS], section.level, missing[at])
            for at, section in enumerate(self.sections)
            if at in missing
        ]

    def _blocks_of(self, at: int) -> list[str]:
        is_cut = self._is_incomplete(at) or (self._goes_on(at) and at + 1 not in self.kept)
        return [*self.kept[at], ELLIPSIS] if is_cut else self.kept[at]

    def _goes_on(self, at: int) -> bool:
        return at + 1 < len(self.sections) and self.sections[at + 1].continues

    def _is_incomplete(self, at: int) -> bool:
        return self.kept.get(at, []) != self.sections[at].blocks

    def _missing(self, at: int) -> int:
        whole, kept = (
            sum(map(self._weigh, blocks)) for blocks in (self.sections[at].blocks, self.kept.get(at, []))
        )
        return to_tokens(max(100, whole - kept))

    # The cost of blocks.

    def _weigh(self, block: str) -> int:
        if block not in self._weights:
            self._weights[block] = weigh(block)
        return self._weights[block]

    def _price(self, blocks: list[str], numbers: set[int]) -> int:
        lines = (weigh(self.references.lines[number]) + GAP for number in numbers - self.listed)
        return sum(self._weigh(block) + GAP for block in blocks) + sum(lines)

    def _numbers(self, blocks: list[str]) -> set[int]:
        return {number for block in blocks for number in self.references.within(block)}

    def _afford(self, blocks: list[str]) -> bool:
        if self._price(blocks, set()) > self.room:  # a long heading is not searched again for each section
            return False
        numbers = self._numbers(blocks)
        price = self._price(blocks, numbers)
        if price > self.room:
            return False
        self.room -= price
        self.listed |= numbers
        return True

    # The choice of blocks.

    def _keep_whole(self, at: int, section: Section, parents: list[int | None]) -> None:
        """Keep a section with the headings above it, so that it does not seem part of another section."""
        above = self._headings_above(at, parents)
        cut = [ELLIPSIS] if self._goes_on(at) else []
        if section.blocks and self._afford([*section.blocks, *cut, *self._heading_blocks(above)]):
            self._open(above)
            self.kept[at] = section.blocks

    def _keep_beginning(self, at: int, section: Section, parents: list[int | None]) -> None:
        above = self._headings_above(at, parents)
        blocks = list(self.kept.get(at, []))
        if at not in self.kept:
            if not self._afford([ELLIPSIS, *self._heading_blocks(above)]):
                return
            self._open(above)
        for block in section.blocks[len(blocks) :]:
            if not self._afford([block]):
                first = not any(self.kept.values()) and len(blocks) <= bool(section.level)
                blocks += self._part(cuttable_at_last(block) if first else cuttable(block))
                break
            blocks.append(block)
        if blocks:
            self.kept[at] = blocks

    def _part(self, block: Cuttable | None) -> list[str]:
        """Return as many parts of a block as fit."""
        if block is None:
            return []
        fits, price, numbers = 0, self._price([block.head, block.tail], set()), set[int]()
        for part in block.parts:
            new = self.references.within(part) - numbers
            price += self._price([part], new)
            if price > self.room:
                break
            fits, numbers = fits + 1, numbers | new
        while fits:  # a long word costs more than its parts
            kept = [block.first(fits).rstrip()]
            if self._afford(kept):
                return kept
            fits -= 1
        return []

    def _headings_above(self, at: int, parents: list[int | None]) -> list[int]:
        above: list[int] = []
        parent = parents[at]
        while parent is not None and parent not in self.kept:
            above.append(parent)
            parent = parents[parent]
        return above

    def _heading_blocks(self, above: list[int]) -> list[str]:
        return [block for at in above for block in (self.sections[at].blocks[0], ELLIPSIS)]

    def _open(self, above: list[int]) -> None:
        for at in above:
            self.kept[at] = self.sections[at].blocks[:1]


def _parents(sections: list[Section]) -> list[int | None]:
    """Return the parent of each section: the one whose heading it is under."""
    parents: list[int | None] = []
    open_: list[tuple[int, int]] = []  # with their levels
    for at, section in enumerate(sections):
        level = _DEEPEST if section.continues else section.level
        while open_ and open_[-1][1] >= level:
            open_.pop()
        parents.append(open_[-1][0] if open_ else None)
        if level:
            open_.append((at, level))
    return parents


def _lead(passages: list[Section]) -> list[int]:
    """Return what says what the page is: how it begins, and the passage below its title."""
    titles = [at for at, passage in enumerate(passages) if at and not passage.continues]
    is_title = titles and (passages[titles[0]].level == 1 or not passages[0].blocks)
    return [0, titles[0]] if is_title else [0]


def _text(passage: Section, parent: int | None) -> PassageText:
    heading = "" if passage.continues else passage.heading
    return PassageText(heading, "\n".join(passage.blocks[bool(heading) :]), parent)
