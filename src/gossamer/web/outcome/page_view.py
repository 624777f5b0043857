"""A page as the rules of outcomes see it: its titles, its text, the marks in its markup."""

import re
from typing import Final

from msgspec import Struct

from gossamer.web.html.markup_scan import MarkupScan, scan_markup
from gossamer.web.outcome import signs
from gossamer.web.pages.page import Page

# Amounts of text, in letters.
PLENTY: Final = 3000  # accepted whatever its words are
ARTICLE: Final = 1500
NOTE: Final = 800
LINE: Final = 400
FRAGMENT: Final = 200
UNFILLED: Final = 40  # in the element that an application fills


class PageView(Struct, frozen=True):
    page: Page
    scan: MarkupScan
    titles: tuple[str, ...]  # title and headings, whole and in parts
    text: str

    @classmethod
    def of(cls, page: Page, title: str) -> "PageView":
        scan = scan_markup(page.text, enough=PLENTY)
        titles = dict.fromkeys(
            part for line in (scan.title, title, *scan.headings) for part in parts_of(line)
        )
        return cls(page, scan, tuple(titles), plain(scan.text))

    def match_title(self, known: signs.Phrases) -> str:
        return next((part for part in self.titles if known.fullmatch(part)), "")

    def find_phrase(self, known: signs.Phrases, *, below: int) -> str:
        """Return the phrase in the text, if there is less text than `below`.

        On all but the shortest pages it has to begin a sentence, as where a page speaks of itself.
        """
        if not self.is_shorter_than(below):
            return ""
        long = not self.is_shorter_than(FRAGMENT)
        found = (match for match in known.finditer(self.text) if _is_said(self.text, match.start(), long))
        return next((match[0][:100] for match in found), "")

    def find_mark(self, known: signs.Marks) -> str:
        markup = self.scan.markup
        return next((name for name, parts in known.items() if any(part in markup for part in parts)), "")

    def is_shorter_than(self, amount: int) -> bool:
        return self.scan.prose < amount

    @property
    def is_bare(self) -> bool:
        """Whether there is neither a site around the text nor a document in it, as on a wall."""
        return self.scan.links <= 8 and not self.scan.furniture

    @property
    def is_redirected(self) -> bool:
        return self.page.url != self.page.final_url


_QUOTES: Final = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00a0": " ", "\u2011": "-"})
_SEPARATOR: Final = re.compile(
    r"\s+[|\-\u2013\u2014\u00b7\u2022\u00bb\u203a:\u2212/]+\s+|[:|\uff5c]\s+|\s*[|\uff5c_]\s*"
)
EDGES: Final = " .\u2026!?\u3002\uff01\uff1f\u00a1\u00bf:;,-\u2013\u2014\u00bb\u00ab\"'"


def plain(text: str) -> str:
    return text.lower().translate(_QUOTES)


def parts_of(line: str) -> list[str]:
    """Return a title and its parts: `Page not found | Acme` is also `Page not found`."""
    whole = plain(line)[:300]
    parts = (part.strip(EDGES) for part in (whole, *_SEPARATOR.split(whole)))
    return [part for part in parts if part]


MAX_LEAD_CHARS: Final = 40  # `Sorry, it looks like`
_SENTENCE_END: Final = re.compile(r"[\n.!?\u2026\u3002\uff01\uff1f]")
_OPENING_QUOTES: Final = frozenset("\"'\u201c\u201e\u00ab\u00bb\u2039\u300c\u300e`")


def _is_said(text: str, at: int, long: bool) -> bool:
    """Whether the page says this of itself: it is no quotation, and on a long page it begins a sentence."""
    before = text[max(0, at - 2 * MAX_LEAD_CHARS) : at]
    if before[-1:] in _OPENING_QUOTES:
        return False
    return not long or len(_SENTENCE_END.split(before)[-1].strip()) <= MAX_LEAD_CHARS
