"""The lexicon: how many pages of a tenant have a word, and which known word somebody may have meant.

It counts the pages of a sample: all of the first thousands, and fewer the more there are, so that it grows
slowly and costs indexing little. A page is counted when it is new, and never uncounted, so numbers are
estimates. They are good enough to tell rare words from common ones.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field
from sqlalchemy import delete, func, select

from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import search_lexicon
from gossamer.state.search.search_document import IndexEntry
from gossamer.web.search.languages import LANGUAGES
from gossamer.web.search.spelling import MAX_DISTANCE, distance, may_be_misspelt, variants
from gossamer.web.search.terms import rarity_of

ALL_PAGES: Final = 5_000  # of a tenant, up to which every page is counted
MAX_WORD_CHARS: Final = 32  # longer ones are not counted
MAX_COMPARED: Final = 3_000  # words that begin alike
ALIKE_CHARS: Final = 2  # at the beginning of words that are compared
TOTAL: Final = ""  # the word under which pages are counted
LANGUAGE: Final = "@"  # at the beginning of a language
_LANGUAGES: Final = tuple(LANGUAGE + language for language in LANGUAGES)

_words: Final = search_lexicon.c
_ADD: Final = bulk(
    """
INSERT INTO search_lexicon (tenant_id, word, pages, forms)
SELECT {tenant}, given.word, given.pages, given.forms FROM {given} WHERE true
ON CONFLICT (tenant_id, word) DO UPDATE
SET pages = search_lexicon.pages + excluded.pages, forms = search_lexicon.forms + excluded.forms""",
    values={"tenant": "text"},
    rows={"word": "text", "pages": "bigint", "forms": "bigint"},
)

_LOOK_UP: Final = bulk(
    """
SELECT word, sum(pages), sum(forms) FROM search_lexicon
WHERE tenant_id IN ({tenant}, {other}) AND word IN (SELECT word FROM {given}) GROUP BY word""",
    values={"tenant": "text", "other": "text"},
    rows={"word": "text"},
)


class KnownWords(Struct, frozen=True):
    """What the lexicon knows about some words."""

    pages: int = 0  # of the sample
    having: Mapping[str, int] = field(default_factory=dict)  # pages, by word
    languages: tuple[str, ...] = ()  # of the pages, the most common first

    def rarity(self, words: Iterable[str]) -> float:
        return rarity_of(self.pages, max((self.having.get(word, 0) for word in words), default=0))


async def add(connection: AsyncConnection, tenant: str, entries: Sequence[IndexEntry]) -> None:
    """Count new pages. The tenant is locked."""
    total = select(_words.pages).where(_words.tenant_id == tenant, _words.word == TOTAL)
    share = max(1, (await connection.scalar(total) or 0) // ALL_PAGES) ** 2
    counted = [entry for entry in entries if int(entry.row.name[:8], 16) % share == 0]
    pages: Counter[str] = Counter({TOTAL: len(counted)})
    forms: Counter[str] = Counter()
    for entry in counted:
        terms = entry.terms.terms
        pages.update(terms)
        pages[LANGUAGE + entry.terms.language] += bool(entry.terms.language)
        forms.update(entry.terms.forms)
        forms.update(entry.terms.unchanged)
    rows = [
        (word, pages[word], forms[word]) for word in sorted({*pages, *forms}) if len(word) <= MAX_WORD_CHARS
    ]
    if counted:
        await _ADD(connection, None, rows, tenant=tenant)


async def forget(connection: AsyncConnection, tenant: str) -> None:
    await connection.execute(delete(search_lexicon).where(_words.tenant_id == tenant))


async def look_up(connection: AsyncConnection, tenants: Sequence[str], words: Iterable[str]) -> KnownWords:
    """What is known of these words, in the pages of these tenants together."""
    sought = [(word,) for word in sorted({TOTAL, *_LANGUAGES, *words})]
    rows = await _LOOK_UP(connection, None, sought, tenant=tenants[0], other=tenants[-1])
    found = {word: max(int(pages), int(forms)) for word, pages, forms in rows}
    spoken = sorted((word for word in found if word.startswith(LANGUAGE)), key=lambda word: -found[word])
    languages = tuple(word[1:] for word in spoken if len(word) > 1)
    return KnownWords(found.get(TOTAL, 0), found, languages)


async def nearest(connection: AsyncConnection, tenants: Sequence[str], word: str) -> str | None:
    """The known word that was probably meant: first by one typing error, then by two."""
    if not may_be_misspelt(word):
        return None
    for among in (_words.word.in_(variants(word)), _alike(word)):
        query = select(_words.word, func.sum(_words.forms)).where(
            _words.tenant_id.in_(tenants), _words.forms > 0, among
        )
        rows: Sequence[Any] = (
            await connection.execute(query.group_by(_words.word).limit(MAX_COMPARED))
        ).all()
        near = [(distance(word, known), -int(pages), known) for known, pages in rows if known != word]
        best = min(near, default=None)
        if best is not None and best[0] <= MAX_DISTANCE:
            return str(best[2])
    return None


def _alike(word: str) -> Any:
    """Words of about the same length that begin with the same letters."""
    begins = word[:ALIKE_CHARS]
    after = begins[:-1] + chr(ord(begins[-1]) + 1)
    size = func.length(_words.word)
    return (
        (_words.word >= begins)
        & (_words.word < after)
        & size.between(len(word) - MAX_DISTANCE, len(word) + MAX_DISTANCE)
    )
