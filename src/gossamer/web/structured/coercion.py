"""Coercion: a value as a page gives it, as the schema wants it; nothing where that would be a guess."""

import html
import re
from dataclasses import dataclass
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from gossamer.web.dates import iso_date
from gossamer.web.links import Addresses
from gossamer.web.structured.numbers import COMMA_LANGUAGES, number
from gossamer.web.structured.record import LONGEST, Leaf, Record
from gossamer.web.structured.wanted import Wanted
from gossamer.web.structured.words import key, words
from gossamer.web.vocabulary import tags

_TRUE: Final = tags(
    "true yes y on 1 instock available onlineonly limitedavailability instoreonly backorder preorder "
    "presale ja oui sí si sim ✓ ✔ ✅ included"
)
_FALSE: Final = tags(
    "false no n off 0 outofstock soldout discontinued unavailable nein non não nao ✗ ✘ ❌ none"
)
_MARKUP: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_DURATION: Final = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.I
)
_SECONDS: Final = {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "day": 86_400}
_TIMES: Final = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_EMAIL: Final = re.compile(r"(?<![^\s@<>])[^\s@<>]++@[^\s@<>]+\.[^\s@<>]++")
# What a record is called when one word has to do, best first.
_NAMES: Final = ("name", "headline", "text", "@value", "value", "title", "ratingValue", "url", "@id")
_LINKS: Final = ("url", "contentUrl", "@id", "embedUrl", "sameAs")
_ADDRESS: Final = ("streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry")


@dataclass(frozen=True, slots=True)
class Reader:
    """What has to be known of a page to read its values."""

    addresses: Addresses
    language: str = ""

    @property
    def comma(self) -> bool:
        return self.language.partition("-")[0].lower() in COMMA_LANGUAGES

    def coerce(self, value: Leaf | Record, wanted: Wanted, *, exact: bool = True) -> Any:
        """`exact`: written for machines, where decimals follow a dot. None where it does not fit."""
        leaf = value if isinstance(value, Leaf) else flattened(value, wanted)
        if leaf is None or leaf.value == "":
            return None
        comma = None if exact else self.comma
        if wanted.choices:
            return _choice(leaf.value, wanted.choices)
        types = wanted.types - {"null", "object", "array"}
        for name, make in (
            ("integer", _integer),
            ("number", _number),
            ("boolean", _boolean),
        ):
            if name in types and (made := make(leaf.value, wanted, comma)) is not None:
                return made
        if types and "string" not in types:
            return None
        if not types and not isinstance(leaf.value, str):
            return leaf.value
        return self._text(leaf.value, wanted)

    def _text(self, value: Any, wanted: Wanted) -> str | None:
        raw = str(value).lower() if isinstance(value, bool) else str(value)
        if wanted.format in ("email", "idn-email"):
            found = _EMAIL.search(html.unescape(raw).removeprefix("mailto:"))
            return found[0].rstrip(".,;") if found else None
        text = plain(raw)
        if not text:
            return None
        if wanted.format in ("date", "date-time", "time"):
            return _moment(text, wanted.format)
        if wanted.format in ("uri", "iri", "url"):
            return self.addresses.absolute(text) or None
        return text


def flattened(record: Record, wanted: Wanted) -> Leaf | None:
    """A record where one word has to do: its address if an address is wanted, else its name."""
    if "Address" in "".join(record.kinds):
        parts = [leaf for name in _ADDRESS for leaf in list(record.follow(name))[:1]]
        texts = [str(one.value) if isinstance(one, Leaf) else _name(one) for one in parts]
        if any(texts):
            return Leaf(", ".join(filter(None, texts)), record.path)
    names = _LINKS if wanted.format in ("uri", "iri", "url") else _NAMES
    for name in names:
        for value in record.follow(name):
            if isinstance(value, Leaf):
                return value
            if name == "value":
                return flattened(value, wanted)
    return None


def _name(record: Record) -> str:
    return next((str(one.value) for one in record.follow("name") if isinstance(one, Leaf)), "")


def plain(text: str) -> str:
    """Without markup, entities and needless space."""
    if _MARKUP.search(text):
        text = LexborHTMLParser(text[:LONGEST]).text(separator=" ") or ""
    elif "&" in text:
        text = html.unescape(text)
    return " ".join(text.split())[:LONGEST]


def _integer(value: Any, wanted: Wanted, comma: bool | None) -> int | None:
    found = _number(value, wanted, comma)
    return int(found) if found is not None and float(found).is_integer() and abs(found) < 2**53 else None


def _number(value: Any, wanted: Wanted, comma: bool | None) -> float | int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    duration = _DURATION.fullmatch(value.strip())
    if duration and any(duration.groups()):
        return _lasting(duration, wanted)
    return number(plain(value), comma=comma)


def _lasting(duration: re.Match[str], wanted: Wanted) -> float | int | None:
    """In the unit that the schema names, and in no other."""
    seconds = sum(
        float(part or 0) * size for part, size in zip(duration.groups(), (86_400, 3600, 60, 1), strict=True)
    )
    said = {word for text in (*wanted.names, wanted.description) for word in words(text)}
    sizes = {_SECONDS[word] for word in said if word in _SECONDS}
    if len(sizes) != 1:
        return None
    amount = seconds / sizes.pop()
    return int(amount) if amount.is_integer() else amount


def _boolean(value: Any, _wanted: Wanted, _comma: bool | None) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).strip().casefold()
    last = key(text.rstrip("/").rpartition("/")[2]) if "://" in text else key(text)
    for names, meaning in ((_TRUE, True), (_FALSE, False)):
        if last in names or text in names:
            return meaning
    return None


def _choice(value: Any, choices: tuple[Any, ...]) -> Any:
    """The one that is meant, also when it is written otherwise or as an address that ends in it."""
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    text = plain(str(value))
    spellings = {key(text), key(text.rstrip("/").rpartition("/")[2])}
    for choice in choices:
        if isinstance(choice, str) and key(choice) in spellings:
            return choice
        if isinstance(choice, int | float) and not isinstance(choice, bool) and number(text) == choice:
            return choice
    return None


def _moment(text: str, form: str) -> str | None:
    if form == "time":
        match = _TIMES.fullmatch(text)
        return match[0] if match else None
    found = iso_date(text, earliest=1)
    if found is None:
        return None
    return found[:10] if form == "date" else found if "T" in found else None
