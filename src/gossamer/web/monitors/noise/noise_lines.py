"""Lines of a text as they are compared: without noise, and without blocks that are noise as a whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gossamer.web.monitors.noise.masks import Masked, Masks, matches_phrase, plain_line
from gossamer.web.monitors.noise.noise_kind import NoiseKind, NoiseOptions

MAX_LINES: Final = 5_000
MAX_CARD_WORDS: Final = 25  # of a line in a block of teasers; a longer one is text again
MAX_LABEL_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class ComparedLine:
    text: str  # as the page has it
    masked: Masked
    ignored: NoiseKind | None = None  # all of it is noise

    @property
    def key(self) -> str:
        return self.masked.key


def compared_lines(
    text: str, options: NoiseOptions, seen_at: float, headings: Sequence[int] = ()
) -> list[ComparedLine]:
    """The lines of a text. `headings` are the places in it where headings begin."""
    masks = Masks(options, seen_at)
    phrases = tuple(plain_line(phrase).casefold() for phrase in options.ignore)
    lines = []
    blocks = list(_blocks(text, options, frozenset(headings)))
    is_subject = sum(block is NoiseKind.ELSEWHERE for _, block in blocks) * 2 > len(blocks)
    for line, found in blocks:
        block, masked = found, masks.of(line)
        if is_subject and block is NoiseKind.ELSEWHERE:  # a page of the latest news is about them
            block = None
        if block is None and any(phrase in plain_line(line).casefold() for phrase in phrases):
            block = NoiseKind.IGNORED
        lines.append(ComparedLine(line, masked, block))
    return lines


def unified_keys(
    before: Sequence[ComparedLine], after: Sequence[ComparedLine]
) -> tuple[list[ComparedLine], list[ComparedLine]]:
    """A line that both texts have word for word is its own key: what is today's date at one look need not be
    so at the next."""
    common = {line.text for line in before} & {line.text for line in after}
    return [_exact(line, common) for line in before], [_exact(line, common) for line in after]


def _exact(line: ComparedLine, common: set[str]) -> ComparedLine:
    return replace(line, masked=Masked(line.text)) if line.text in common else line


def _blocks(
    text: str, options: NoiseOptions, headings: frozenset[int]
) -> Iterator[tuple[str, NoiseKind | None]]:
    """Each line, and the kind of the noisy block that it is in."""
    inside: NoiseKind | None = None
    for place, line in _lines(text):
        is_label = len(line) <= MAX_LABEL_CHARS
        if options.advertisements and is_label and matches_phrase("advertisement", line):
            inside = NoiseKind.ADVERTISEMENT
            yield line, inside
        elif options.elsewhere and is_label and matches_phrase("elsewhere", line):
            inside = NoiseKind.ELSEWHERE
            yield line, inside
        elif inside is None or place in headings or line.count(" ") >= MAX_CARD_WORDS:
            inside = None
            yield line, None
        else:
            yield line, inside
            if inside is NoiseKind.ADVERTISEMENT:  # nothing says where it ends: one line
                inside = None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    place = count = 0
    for line in text.split("\n"):
        if line.strip():
            count += 1
            if count > MAX_LINES:
                return
            yield place, line.strip()
        place += len(line) + 1
