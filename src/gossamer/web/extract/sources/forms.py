"""Forms: recognise a value in a card by what it looks like and where it is.

A price has a currency, a rating a scale, a title is a heading. Only a text that is nothing but the value
counts: prices in a sentence say nothing about the price of a thing.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gossamer.web.extract.record import Leaf
from gossamer.web.extract.schema.words import key
from gossamer.web.extract.sources.cards import Card, Piece
from gossamer.web.html.dates import iso_date
from gossamer.web.html.vocabulary import read_sections

MIN_PROSE_CHARS: Final = 15
MAX_TITLE_CHARS: Final = 200
MAX_FORM_CHARS: Final = 120  # of a price, a rating, a date
MAX_BESIDE: Final = 40  # characters of other text in the same block
_VOCABULARY: Final = read_sections("gossamer.web.extract.sources", "forms.txt")
_CURRENCIES: Final = dict(line.split() for line in _VOCABULARY["currencies"])


def _alternatives(section: str) -> str:
    found = [word for line in _VOCABULARY[section] for word in line.split(", ")]
    return "|".join(re.escape(word) for word in sorted(found, key=len, reverse=True))


_MONEY: Final = "|".join(re.escape(one) for one in sorted(_CURRENCIES, key=len, reverse=True))
_AMOUNT: Final = r"\d[\d.,'\u2019\u00a0\u202f ]*(?:,-|\.-|,\u2013)?"
_PRICE: Final = re.compile(
    rf"(?:(?:{_alternatives('from')})\s+)?(?:(?P<before>{_MONEY})\s*{_AMOUNT}|{_AMOUNT}\s*(?P<after>{_MONEY}))"
    rf"\s*\*?(?:\s*(?:/|{_alternatives('per')})\s*[^\W\d]+|\s*[(\uff08][^()\uff08\uff09]*[)\uff09])?",
    re.I,
)
_RATING: Final = re.compile(
    r"(?:\D{0,30}?\s)?(\d{1,2}(?:[.,]\d{1,2})?)\s*"
    rf"(?:(?:/|{_alternatives('out_of')})\s*(?:5|10|100)\b[^\d(]*|[★⭐]+\s*|\s(?:{_alternatives('stars')}))"
    r"(?:[(\uff08,·].*)?",
    re.I,
)
_STARS: Final = re.compile(r"(?P<rating>([★⭐]{1,10})[☆✩]{0,10})(?:[(\uff08]\d[\d.,]*[)\uff09])?")
_COUNT: Final = re.compile(
    rf"(?:^|[(\s·|])(\d[\d.,\u00a0 ]*)\+?\s*(?:{_alternatives('reviews')})\b"
    r"|[★⭐☆✩]\s*[(\uff08](\d[\d.,]*)[)\uff09]",
    re.I,
)
_BYLINE: Final = re.compile(
    rf"\s*(?:{_alternatives('by')})[:\s]\s*([^\d,|·•\u2013\u2014]{{3,60}}?)\s*(?:[,|·•\u2013\u2014\d].*)?",
    re.I,
)
_UNIT: Final = re.compile(r"(\d[\d.,\u00a0 ]*)\s*([^\W\d_][^\d,]{1,30})")
_DECIMALS: Final = re.compile(r"\d[\d.,'\u2019\u00a0\u202f ]*[.,]\d\d")
_POINTS: Final = re.compile(r"(?:\d|10)(?:[.,]\d{1,2})?")
_NUMBER: Final = re.compile(r"[(\uff08]?\d[\d.,\u00a0\u202f ]*[)\uff09]?")
_POSTCODE: Final = r"(?:\b\d{4,6}\b|\b[A-Z]{1,2}\d[\dA-Z]? ?\d[A-Z]{2}\b)"
_STREET: Final = re.compile(
    rf"(?:[^\W\d][^\d,:!?]{{2,40}} \d{{1,5}}\w?|\d{{1,5}}\w? [^\W\d][^\d,:!?]{{2,40}}),"
    rf"(?=.*{_POSTCODE})[^:!?]{{2,80}}"
)
_HOUSE: Final = re.compile(r"^\d{1,5}\w? [^\W\d].*,|[^\W\d] \d{1,5}\w?,")
_PHONE: Final = re.compile(r"[^\d+(]{0,12}[+(]{0,2}\d[\d\s()./+\u2010-\u2013-]{4,22}\d")
_ASKS: Final = ("?", "\uff1f", "\u061f", "\u037e")
_STOCK: Final = frozenset(key(word) for line in _VOCABULARY["stock"] for word in line.split(", "))

_PLAUSIBLE: Final[Mapping[str, tuple[re.Pattern[str], ...]]] = {
    "price": (_PRICE, _DECIMALS),
    "list price": (_PRICE, _DECIMALS),
    "rating": (_RATING, _POINTS),
    "review count": (_COUNT, _NUMBER),
    "phone": (_PHONE,),
    "address": (_STREET,),
}

Finder = Callable[[Card], Iterator[Leaf]]


def _shown(piece: Piece) -> Iterator[str]:
    """Its text, and what it says to those who cannot see it, unless it is a part of a sentence."""
    if piece.beside > MAX_BESIDE:
        return
    for text in (piece.text, piece.element.get("aria-label"), piece.element.get("title")):
        if 0 < len(text) <= MAX_FORM_CHARS:
            yield " ".join(text.split())


def _leaf(card: Card, piece: Piece, value: str) -> Leaf:
    return Leaf(value, f"{card.path} {piece.element.tag}")


def is_plausible(concept: str, text: str) -> bool:
    """Whether a text looks like a value of the concept; only its markup says that it is one."""
    patterns = _PLAUSIBLE.get(concept)
    return patterns is None or any(pattern.fullmatch(text.strip()) for pattern in patterns)


def questions(card: Card) -> Iterator[Leaf]:
    yield from (one for one in titles(card) if str(one.value).endswith(_ASKS))


def answers(card: Card) -> Iterator[Leaf]:
    yield from _after(card, next(questions(card), None))


def terms(card: Card) -> Iterator[Leaf]:
    for one in card.walk():
        if one.tag in ("dt", "dfn") and one.text <= MAX_TITLE_CHARS:
            yield Leaf(one.plain(), f"{card.path} {one.tag}")


def definitions(card: Card) -> Iterator[Leaf]:
    yield from _after(card, next(terms(card), None))


def titles(card: Card) -> Iterator[Leaf]:
    """Headings, then what is emphasised, then links."""
    marked = [piece.element for piece in card.pieces if piece.element.tag in _TITLES]
    for one in (*card.headings, *marked, *card.links):
        if 0 < one.text <= MAX_TITLE_CHARS and not _is_form(text := one.plain()):
            yield Leaf(text, f"{card.path} {one.tag}")


_TITLES: Final = frozenset(("strong", "b", "button"))


def addresses_of_links(card: Card) -> Iterator[Leaf]:
    """That of the title first."""
    titled = [one for head in card.headings for one in (*head.walk(), *head.above()) if one.tag == "a"]
    for link in (*titled, *card.links):
        yield Leaf(link.get("href"), f"{card.path} a")


def images(card: Card) -> Iterator[Leaf]:
    for one in card.walk():
        source = one.get("src") or one.get("data-src") if one.tag == "img" else ""
        if source and not source.startswith("data:"):
            yield Leaf(source, f"{card.path} img")


def prices(card: Card) -> Iterator[Leaf]:
    yield from (_leaf(card, piece, piece.text) for piece in _priced(card) if not piece.is_struck)


def struck_prices(card: Card) -> Iterator[Leaf]:
    yield from (_leaf(card, piece, piece.text) for piece in _priced(card) if piece.is_struck)


def currencies(card: Card) -> Iterator[Leaf]:
    for piece in _priced(card):
        match = _PRICE.fullmatch(piece.text)
        said = (match["before"] or match["after"]) if match else ""
        yield _leaf(card, piece, _CURRENCIES.get(said, _CURRENCIES.get(said.upper(), said)))


def _priced(card: Card) -> Iterator[Piece]:
    for piece in card.pieces:
        if len(piece.text) <= MAX_FORM_CHARS and piece.beside <= MAX_BESIDE and _PRICE.fullmatch(piece.text):
            yield piece


def ratings(card: Card) -> Iterator[Leaf]:
    """In words; otherwise the stars are counted, which are rounded."""
    shown = [(piece, text) for piece in card.pieces for text in _shown(piece)]
    said = [_leaf(card, piece, match[1]) for piece, text in shown if (match := _RATING.fullmatch(text))]
    yield from said or (_leaf(card, piece, stars) for piece, text in shown if (stars := _count_stars(text)))


def _count_stars(text: str) -> str:
    match = _STARS.fullmatch(text.replace(" ", ""))
    return str(len(match[2])) if match and len(match["rating"]) in (5, 10) else ""


def review_counts(card: Card) -> Iterator[Leaf]:
    for piece in card.pieces:
        for text in _shown(piece):
            if match := _COUNT.search(text):
                yield _leaf(card, piece, (match[1] or match[2]).strip())


def dates(card: Card) -> Iterator[Leaf]:
    for one in card.walk():
        if one.tag == "time" and one.get("datetime"):
            yield Leaf(one.get("datetime"), f"{card.path} time")
    for piece in card.pieces:
        for text in _parts(piece):
            if iso_date(text):
                yield _leaf(card, piece, text)


def authors(card: Card) -> Iterator[Leaf]:
    for piece in card.pieces:
        if len(piece.text) <= MAX_FORM_CHARS and (match := _BYLINE.fullmatch(piece.text)):
            yield _leaf(card, piece, match[1])


def prose(card: Card) -> Iterator[Leaf]:
    """The longest text that is no title."""
    titled = {one.plain() for one in card.headings}
    texts = [piece for piece in card.pieces if len(piece.text) >= MIN_PROSE_CHARS]
    said = [one for one in texts if one.text not in titled and not _is_form(one.text)]
    if said:
        longest = max(said, key=lambda piece: len(piece.text))
        yield _leaf(card, longest, longest.text)


def _after(card: Card, title: Leaf | None) -> Iterator[Leaf]:
    """All that is said after a title."""
    _, found, rest = card.root.plain().partition(str(title.value)) if title else ("", "", "")
    if found and rest.strip():
        yield Leaf(rest.strip(), card.path)


def streets(card: Card) -> Iterator[Leaf]:
    for one in card.walk():
        if one.tag == "address" and one.text <= MAX_FORM_CHARS and _HOUSE.search(one.plain()):
            yield Leaf(one.plain(), f"{card.path} address")
    for piece in card.pieces:
        if not piece.beside and _STREET.fullmatch(piece.text) and not iso_date(piece.text):
            yield _leaf(card, piece, piece.text)


def phones(card: Card) -> Iterator[Leaf]:
    yield from _contacts(card, "tel:")


def emails(card: Card) -> Iterator[Leaf]:
    for link in card.links:
        if link.get("href").lower().startswith("mailto:"):
            yield Leaf(link.get("href")[7:].partition("?")[0], f"{card.path} a")


def stocks(card: Card) -> Iterator[Leaf]:
    for piece in card.pieces:
        if len(piece.text) <= 40 and key(piece.text) in _STOCK:
            yield _leaf(card, piece, piece.text)


def counted(card: Card, names: frozenset[str]) -> Iterator[Leaf]:
    """Numbers with the name after them: `3 bedrooms`."""
    for piece in card.pieces:
        for text in _shown(piece):
            match = _UNIT.fullmatch(text)
            if match and key(match[2]) in names:
                yield _leaf(card, piece, match[1].strip())


def _contacts(card: Card, scheme: str) -> Iterator[Leaf]:
    for link in card.links:
        if link.get("href").lower().startswith(scheme):
            yield Leaf(link.plain() or link.get("href")[len(scheme) :], f"{card.path} a")


def _parts(piece: Piece) -> Iterator[str]:
    """A short text, and what stands between its bullets and bars."""
    if len(piece.text) <= MAX_FORM_CHARS:
        yield from (part.strip() for part in re.split(r"[·•|]", piece.text) if len(part) <= 40)


def _is_form(text: str) -> bool:
    return bool(len(text) <= MAX_FORM_CHARS and (_PRICE.fullmatch(text) or _RATING.fullmatch(text)))


BY_CONCEPT: Final[Mapping[str, Finder]] = {
    "title": titles,
    "description": prose,
    "author": authors,
    "published": dates,
    "start": dates,
    "image": images,
    "url": addresses_of_links,
    "price": prices,
    "currency": currencies,
    "list price": struck_prices,
    "rating": ratings,
    "review count": review_counts,
    "address": streets,
    "phone": phones,
    "email": emails,
    "availability": stocks,
    "body": prose,
    "question": questions,
    "answer": answers,
    "term": terms,
    "definition": definitions,
}
