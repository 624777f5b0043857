"""Fragments: the pieces of a page's lines, with their place and their font.

A line ends a fragment, and so does a wide gap in it, as between the cells of a table. Asking PDFium about
each character would take longer than reading. A text object has one origin and one font, and no wide gaps, so
PDFium is only asked about the words that begin an object.
"""

import ctypes
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec
import pypdfium2
from pypdfium2 import raw

MAX_FRAGMENTS: Final = 5_000  # of a page; a page with more is no prose
GAP: Final = 0.8  # heights of the font; a wider gap ends a fragment
MAX_STRANGE: Final = 0.1  # of the characters: the rest may be turned, or written from right to left

_LINE: Final = re.compile("[^\\s\ufffe\x02](?:[^\r\n\ufffe\x02]*[^\\s\ufffe\x02])?")
_WORD: Final = re.compile(r"\S+")
_HYPHENS: Final = ("\ufffe", "\x02")  # PDFium puts one in the place of a hyphen at the end of a line
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BOLD: Final = re.compile(r"bold|black|heavy|semib|demi|cmbx|-bd|sfbx", re.IGNORECASE)
_FIXED: Final = re.compile(
    r"mono|courier|consol|menlo|cmtt|sftt|typewriter|fixed|NimbusMon|code", re.IGNORECASE
)
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_NAME_BYTES: Final = 128
MAX_SLANT: Final = 0.01  # of upright text


def clean(text: str) -> str:
    return text if text.isprintable() else _CONTROL.sub("", text)


class Fragment(msgspec.Struct, gc=False):
    text: str
    left: float
    right: float
    baseline: float  # in points from below
    size: float
    bold: bool
    fixed: bool  # in a font whose characters are equally wide
    hyphenated: bool  # a word goes on in the next line
    order: int  # on its page, as written


class PdfPageLayout(msgspec.Struct):
    height: float
    fragments: list[Fragment]


def read_layout(text_page: pypdfium2.PdfTextPage, text: str, height: float) -> PdfPageLayout | None:
    """Return the fragments of a page with this text; None if their places do not tell how to read it."""
    if not text.isascii() and len(_RIGHT_TO_LEFT.findall(text)) > MAX_STRANGE * len(text):
        return None
    probe = _Probe(text_page, text)
    fragments: list[Fragment] = []
    turned = 0
    for line in _LINE.finditer(text):
        hyphenated = text.startswith(_HYPHENS, line.end())
        for words in probe.split(line):
            fragment = probe.describe(words, len(fragments), hyphenated=hyphenated)
            if fragment is None:
                turned += words[-1][1] - words[0][0]
            else:
                fragments.append(fragment)
        if len(fragments) > MAX_FRAGMENTS or turned > MAX_STRANGE * len(text):
            return None
    return PdfPageLayout(height, fragments)


_Words = list[tuple[int, int]]  # where each begins and ends in the text; or a whole line as one
_Origin = tuple[float, float, float, float, float]  # of a text object: its scale, its slant, and its place


class _Probe:
    """Asks PDFium about characters of a page. The buffers of the answers are used again."""

    def __init__(self, text_page: pypdfium2.PdfTextPage, text: str) -> None:
        self._page = text_page.raw
        self._text = text
        self._has_same_indexes = text_page.count_chars() == len(text)
        self._origins: dict[int, _Origin] = {}
        self._box, self._matrix = raw.FS_RECTF(), raw.FS_MATRIX()
        self._name, self._flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()

    def _index(self, at: int) -> int:
        """Characters of the text may be others than those of the page, which are what PDFium counts."""
        return at if self._has_same_indexes else int(raw.FPDFText_GetCharIndexFromTextIndex(self._page, at))

    def split(self, line: re.Match[str]) -> Iterator[_Words]:
        """Split a line at its wide gaps."""
        start, end = line.span()
        if self._origin(start) == self._origin(end - 1):
            yield [(start, end)]
            return
        run: _Words = []
        for part in self._parts([match.span() for match in _WORD.finditer(self._text, start, end)]):
            if run and self._is_apart(run[-1][1] - 1, part[0][0]):
                yield run
                run = []
            run += part
        yield run

    def _parts(self, words: _Words) -> Iterator[_Words]:
        """Split words where a text object begins, without asking about all of them."""
        waiting = [(0, len(words) - 1)]
        begun = 0
        while waiting:
            first, last = waiting.pop()
            if first == last or self._origin(words[first][0]) == self._origin(words[last][0]):
                continue
            if last == first + 1:
                yield words[begun:last]
                begun = last
                continue
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]
        yield words[begun:]

    def _is_apart(self, before: int, after: int) -> bool:
        _, right, height = self._place(before)
        gap = self._place(after)[0] - right
        return gap > GAP * height or gap < -height

    def _place(self, at: int) -> tuple[float, float, float]:
        """Return the left and right edges of a character, and its height."""
        box = self._box
        raw.FPDFText_GetLooseCharBox(self._page, self._index(at), box)
        return box.left, box.right, box.top - box.bottom

    def _origin(self, at: int) -> _Origin:
        known = self._origins.get(at)
        if known is None:
            matrix = self._matrix
            raw.FPDFText_GetMatrix(self._page, self._index(at), matrix)
            known = self._origins[at] = matrix.a, matrix.b, matrix.d, matrix.e, matrix.f
        return known

    def describe(self, words: _Words, order: int, *, hyphenated: bool) -> Fragment | None:
        """None for text that is turned."""
        start, end = words[0][0], words[-1][1]
        main = max(words, key=_length)[0]
        width, slant, scale, _, baseline = self._origin(main)
        if abs(slant) > MAX_SLANT * abs(width) or width <= 0 or scale <= 0:
            return None
        fonts = self._font(main)
        if len(words) > 1:
            fonts &= self._font(start) & self._font(words[-1][0])
        return Fragment(
            text=clean(self._text[start:end]),
            left=self._place(start)[0],
            right=self._place(end - 1)[1],
            baseline=baseline,
            size=round(raw.FPDFText_GetFontSize(self._page, self._index(main)) * scale * 2) / 2,
            bold=bool(fonts & _BOLD_FONT),
            fixed=bool(fonts & _FIXED_FONT),
            hyphenated=hyphenated,
            order=order,
        )

    def _font(self, at: int) -> int:
        self._name.value = b""  # a longer name is not written
        raw.FPDFText_GetFontInfo(self._page, self._index(at), self._name, _NAME_BYTES, self._flags)
        return _judge_font(self._name.value)


def _length(word: tuple[int, int]) -> int:
    return word[1] - word[0]


_BOLD_FONT: Final = 1
_FIXED_FONT: Final = 2


@lru_cache(maxsize=256)
def _judge_font(name: bytes) -> int:
    text = name.decode("latin-1")
    return _BOLD_FONT * bool(_BOLD.search(text)) | _FIXED_FONT * bool(_FIXED.search(text))
