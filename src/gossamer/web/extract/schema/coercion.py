"""Coercion: turn a value of a page into the type that the schema asks for, without guessing."""

import html
import re
from typing import Any, Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from gossamer.web.extract.record import MAX_VALUE_CHARS, Leaf, Record
from gossamer.web.extract.schema.numbers import COMMA_LANGUAGES, number
from gossamer.web.extract.schema.words import key, words
from gossamer.web.extract.value_spec import ValueSpec
from gossamer.web.html.dates import iso_date
from gossamer.web.html.links import Addresses
from gossamer.web.html.vocabulary import tags

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
# Properties that stand for a whole record, best first.
_NAMES: Final = ("name", "headline", "text", "@value", "value", "title", "ratingValue", "url", "@id")
_LINKS: Final = ("url", "contentUrl", "@id", "embedUrl", "sameAs")
_ADDRESS: Final = ("streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry")


class ValueReader(Struct, frozen=True):
    """Reads values in the context of a page: its addresses and its language."""

    addresses: Addresses
    language: str = ""

    @property
    def comma(self) -> bool:
        return self.language.partition("-")[0].lower() in COMMA_LANGUAGES

    def coerce(self, value: Leaf | Record, spec: ValueSpec, *, exact: bool = True) -> Any:
        """Return None for a value that does not fit. In `exact` values, decimals follow a dot."""
        leaf = value if isinstance(value, Leaf) else flatten(value, spec)
        if leaf is None or leaf.value == "":
            return None
        comma = None if exact else self.comma
        if spec.choices:
            return _choice(leaf.value, spec.choices)
        types = spec.types - {"null", "object", "array"}
        for name, make in (
            ("integer", _integer),
            ("number", _number),
            ("boolean", _boolean),
        ):
            if name in types and (made := make(leaf.value, spec, comma)) is not None:
                return made
        if types and "string" not in types:
            return None
        if not types and not isinstance(leaf.value, str):
            return leaf.value
        return self._text(leaf.value, spec)

    def _text(self, value: Any, spec: ValueSpec) -> str | None:
        raw = str(value).lower() if isinstance(value, bool) else str(value)
        if spec.format in ("email", "idn-email"):
            found = _EMAIL.search(html.unescape(raw).removeprefix("mailto:"))
            return found[0].rstrip(".,;") if found else None
        text = plain(raw)
        if not text:
            return None
        if spec.format in ("date", "date-time", "time"):
            return _date_or_time(text, spec.format)
        if spec.format in ("uri", "iri", "url"):
            return self.addresses.absolute(text) or None
        return text


def flatten(record: Record, spec: ValueSpec) -> Leaf | None:
    """Reduce a record to one value: its URL if the spec asks for one, else its name."""
    if "Address" in "".join(record.kinds):
        parts = [leaf for name in _ADDRESS for leaf in list(record.follow(name))[:1]]
        texts = [str(one.value) if isinstance(one, Leaf) else _name(one) for one in parts]
        if any(texts):
            return Leaf(", ".join(filter(None, texts)), record.path)
    names = _LINKS if spec.format in ("uri", "iri", "url") else _NAMES
    for name in names:
        for value in record.follow(name):
            if isinstance(value, Leaf):
                return value
            if name == "value":
                return flatten(value, spec)
    return None


def _name(record: Record) -> str:
    return next((str(one.value) for one in record.follow("name") if isinstance(one, Leaf)), "")


def plain(text: str) -> str:
    """Remove markup, entities and extra white space."""
    if _MARKUP.search(text):
        text = LexborHTMLParser(text[:MAX_VALUE_CHARS]).text(separator=" ") or ""
    elif "&" in text:
        text = html.unescape(text)
    return " ".join(text.split())[:MAX_VALUE_CHARS]


def _integer(value: Any, spec: ValueSpec, comma: bool | None) -> int | None:
    found = _number(value, spec, comma)
    return int(found) if found is not None and float(found).is_integer() and abs(found) < 2**53 else None


def _number(value: Any, spec: ValueSpec, comma: bool | None) -> float | int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    duration = _DURATION.fullmatch(value.strip())
    if duration and any(duration.groups()):
        return _duration(duration, spec)
    return number(plain(value), comma=comma)


def _duration(duration: re.Match[str], spec: ValueSpec) -> float | int | None:
    """Convert a duration to the unit that the schema names; None if it names none, or several."""
    seconds = sum(
        float(part or 0) * size for part, size in zip(duration.groups(), (86_400, 3600, 60, 1), strict=True)
    )
    said = {word for text in (*spec.names, spec.description) for word in words(text)}
    sizes = {_SECONDS[word] for word in said if word in _SECONDS}
    if len(sizes) != 1:
        return None
    amount = seconds / sizes.pop()
    return int(amount) if amount.is_integer() else amount


def _boolean(value: Any, _spec: ValueSpec, _comma: bool | None) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).strip().casefold()
    last = key(text.rstrip("/").rpartition("/")[2]) if "://" in text else key(text)
    for names, meaning in ((_TRUE, True), (_FALSE, False)):
        if last in names or text in names:
            return meaning
    return None


def _choice(value: Any, choices: tuple[Any, ...]) -> Any:
    """Return the choice that a value means, even if it is spelt differently or is a URL ending in it."""
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


def _date_or_time(text: str, form: str) -> str | None:
    if form == "time":
        match = _TIMES.fullmatch(text)
        return match[0] if match else None
    found = iso_date(text, earliest=1)
    if found is None:
        return None
    return found[:10] if form == "date" else found if "T" in found else None
