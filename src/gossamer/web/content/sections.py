"""Sections: split Markdown at its headings into blocks, and find where a block may be cut."""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from msgspec import Struct, field

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE: Final = re.compile(r"[\s>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)*+(`{3,}+(?=[^`]*$)|~{3,}+)")
_FENCE_END: Final = re.compile(r"[\s>]*+(`{3,}+|~{3,}+)[ \t]*$")
_RULE: Final = re.compile(r"\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_PHRASE: Final = re.compile(r".{1,120}(?:\s+|$)|\S{60}", re.DOTALL)
_ITEM: Final = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]")


class Section(Struct):
    heading: str  # as displayed; empty before the first heading
    level: int  # 1 to 6; 0 without a heading
    blocks: list[str] = field(default_factory=list)  # the first is the line of the heading
    continues: bool = False  # it is a later part of the section before it


class Cuttable(NamedTuple):
    """A block that may end after any of its parts; `head` and `tail` stay around them."""

    head: str
    parts: list[str]
    joint: str
    tail: str = ""

    def first(self, number: int) -> str:
        return self.head + self.joint.join(self.parts[:number]) + self.tail


def runs_of(markdown: str) -> Iterator[tuple[bool, str]]:
    """Yield runs of lines, with True for those in a fence; an unclosed fence lasts to the end."""
    run: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        if fence:
            run.append(line)
            if _closes_fence(line, fence):
                yield True, "\n".join(run)
                run, fence = [], ""
        elif opening := _FENCE.match(line):
            if run:
                yield False, "\n".join(run)
            run, fence = [line], opening[1]
        else:
            run.append(line)
    if run:
        yield bool(fence), "\n".join(run) + (f"\n{fence}" if fence else "")


def _closes_fence(line: str, fence: str) -> bool:
    end = _FENCE_END.match(line)
    return end is not None and end[1].startswith(fence)


def sections_of(markdown: str) -> list[Section]:
    """Return the sections in page order; the first has no heading and may be empty."""
    sections = [Section("", 0)]
    lines: list[str] = []

    def end_block() -> None:
        if lines:
            sections[-1].blocks.append("\n".join(lines))
            lines.clear()

    for is_code, run in runs_of(markdown):
        if is_code:
            lines.append(run)
            continue
        for line in run.split("\n"):
            heading = _HEADING.match(line)
            under = _UNDERLINE.match(line) if len(lines) == 1 and _is_prose(lines[0]) else None
            if heading is not None:
                end_block()
                text = (heading[2] or "").rstrip().rstrip("#").rstrip()
                sections.append(Section(text, len(heading[1]), [line.strip()]))
            elif under is not None:
                text, level = lines.pop().strip(), 1 if under[1][0] == "=" else 2
                sections.append(Section(text, level, [f"{'#' * level} {text}"]))
            elif line.strip():
                lines.append(line)
            else:
                end_block()
    end_block()
    return sections


def _is_prose(line: str) -> bool:
    return "\n" not in line and not line.startswith((" ", "\t", "|", ">")) and not _ITEM.match(line)


def passages_of(section: Section, most: int, weigh: Callable[[str], int]) -> list[Section]:
    """Split a long section between its blocks. A heading, or a line that announces something, is no end."""
    passages = [Section(section.heading, section.level)]
    weight = 0
    for at, block in enumerate(section.blocks):
        last = passages[-1].blocks
        follows = at <= bool(section.level) or last[-1].endswith(":")
        weight += weigh(block)
        if last and weight > most and not follows:
            passages.append(Section(section.heading, section.level, continues=True))
            weight = weigh(block)
        passages[-1].blocks.append(block)
    return passages


def cuttable(block: str) -> Cuttable | None:
    """Cut a table between rows, or a list between items. Other blocks are not cut while another one fits."""
    lines = block.split("\n")
    if len(lines) > 2 and "|" in lines[0] and _RULE.match(lines[1]):
        return Cuttable("\n".join(lines[:2]) + "\n", lines[2:], "\n")
    if _ITEM.match(block) and all(not is_code for is_code, _ in runs_of(block)):
        return Cuttable("", re.split(r"\n(?=(?:[-+*]|\d{1,9}[.)])[ \t])", block), "\n")
    return None


def cuttable_at_last(block: str) -> Cuttable:
    """Cut the only block, if it is still too long: code between lines, other text between words."""
    opening = _FENCE.match(block.partition("\n")[0])
    if opening is not None and block.count("\n") > 1:
        head, *lines = block.split("\n")
        return Cuttable(f"{head}\n", lines[:-1], "\n", f"\n{lines[-1]}")
    return cuttable(block) or Cuttable("", _PHRASE.findall(block), "")
