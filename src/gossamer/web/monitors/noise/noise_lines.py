"""Lines of a text as they are compared: without noise, and without blocks that are noise as a whole."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from gossamer.web.monitors.noise.masks import Masked, Masks, matches_phrase, plain_line
from gossamer.web.monitors.noise.noise_kind import NoiseKind, NoiseOptions

MAX_LINES: Final = 5_000
MAX_MASKED: Final = 2_000  # lines that differ; of more, each word counts
MAX_CARD_WORDS: Final = 25  # of a line in a block of teasers; a longer one is text again
MAX_LABEL_CHARS: Final = 80


class ComparedLine(Struct, frozen=True):
    text: str  # as the page has it
    masked: Masked
    ignored: NoiseKind | None = None  # all of it is noise

    @property
    def key(self) -> str:
        return self.masked.key


class SeenText(Struct, frozen=True):
    """A text, and when it was seen."""

    text: str
    seen_at: float
    headings: Sequence[int] = ()  # where headings begin
    rest: str = ""  # the other lines of the page


def compared_lines(
    old: SeenText, new: SeenText, options: NoiseOptions
) -> tuple[list[ComparedLine], list[ComparedLine]]:
    """The lines of both texts. One that both have word for word is its own key: what is today's date at one
    look need not be so at the next, and most lines need no work."""
    before, after = _labelled(old, options), _labelled(new, options)
    common = {line for line, _ in before} & {line for line, _ in after}
    return _masked(before, common, options, old.seen_at), _masked(after, common, options, new.seen_at)


def rest_keys(seen: SeenText, options: NoiseOptions) -> frozenset[str]:
    """The lines of the page outside of the text, as they are compared."""
    masks = Masks(options, seen.seen_at)
    return frozenset(masks.of(line).key for _, line in islice(_lines(seen.rest), MAX_MASKED))


def _labelled(seen: SeenText, options: NoiseOptions) -> list[tuple[str, NoiseKind | None]]:
    """Each line, and the noise that all of it is."""
    blocks = list(_blocks(seen.text, options, frozenset(seen.headings)))
    # A page of the latest news is about them.
    is_subject = sum(block is NoiseKind.ELSEWHERE for _, block in blocks) * 2 > len(blocks)
    phrases = tuple(plain_line(phrase).casefold() for phrase in options.ignore)
    return [(line, _kind_of(line, block, phrases, is_subject)) for line, block in blocks]


def _kind_of(
    line: str, block: NoiseKind | None, phrases: Sequence[str], is_subject: bool
) -> NoiseKind | None:
    if block is not None and not (is_subject and block is NoiseKind.ELSEWHERE):
        return block
    if phrases and any(phrase in plain_line(line).casefold() for phrase in phrases):
        return NoiseKind.IGNORED
    return None


def _masked(
    lines: Sequence[tuple[str, NoiseKind | None]], common: set[str], options: NoiseOptions, seen_at: float
) -> list[ComparedLine]:
    masks = Masks(options, seen_at)
    room = MAX_MASKED
    found = []
    for line, block in lines:
        is_plain = line in common or block is not None or room <= 0
        room -= not is_plain
        found.append(ComparedLine(line, Masked(line) if is_plain else masks.of(line), block))
    return found


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
