"""Question: parse a search query as people write it.

    silk rope            both words
    "silk rope"          this phrase
    silk OR hemp         one of them
    -hemp                not this
    rop*                 a word that begins so
    site:example.com     only this host and its subdomains

Everything else is a word. No query is an error: an unclosed quote ends with the query, and an operator
without operands is ignored.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from gossamer.problems import Problem, validation_error
from gossamer.web.search.languages import main_part
from gossamer.web.search.words import words
from gossamer.web.url.url import Url

Phrase = tuple[str, ...]  # consecutive words; an asterisk at the end of the last stands for its other letters
Recency = Literal["day", "week", "month", "year"]

SECONDS: Final = {"day": 86_400.0, "week": 7 * 86_400.0, "month": 31 * 86_400.0, "year": 366 * 86_400.0}
MAX_WORDS: Final = 100  # of a question
MIN_PREFIX_CHARS: Final = 2  # of a word that ends with an asterisk

_PART: Final = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')
_HOST: Final = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_OR: Final = frozenset({"OR", "|"})


class Question(Struct, frozen=True, kw_only=True):
    text: str  # as written, without `site:`
    all_of: tuple[tuple[Phrase, ...], ...]  # a page has one phrase of each
    none_of: tuple[Phrase, ...] = ()
    firm: frozenset[int] = frozenset()  # which of `all_of` are quoted: no page is found without them
    site: str = ""  # a host, as in `Url.host`
    recency: Recency | None = None
    language: str = ""  # its first part, in lower case
    limit: int = 10

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        site: str | None = None,
        recency: Recency | None = None,
        language: str | None = None,
        limit: int = 10,
    ) -> Self:
        """Parse a query; raises `Problem` if `site` is not a host name."""
        reading = _QuestionParser()
        for part in _PART.finditer(text):
            reading.take(part)
        return cls(
            text=" ".join(reading.kept),
            all_of=tuple(map(tuple, reading.all_of)),
            none_of=tuple(reading.none_of),
            firm=frozenset(reading.firm),
            site=_host(site) if site else reading.site,
            recency=recency,
            language=main_part(language or ""),
            limit=limit,
        )

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """All phrases by which a page may be found."""
        return tuple(dict.fromkeys(phrase for choice in self.all_of for phrase in choice))

    def replacing(self, words: Mapping[str, str]) -> "Question":
        """The same question with other words."""

        def replaced(phrase: Phrase) -> Phrase:
            return tuple(words.get(word, word) for word in phrase)

        return replace(self, all_of=tuple(tuple(map(replaced, choice)) for choice in self.all_of))

    def since(self, now: float) -> float | None:
        """Return the earliest time that counts as recent, in Unix seconds."""
        return now - SECONDS[self.recency] if self.recency else None

    def is_on_site(self, host: str) -> bool:
        """Whether this host is on the requested site."""
        return not self.site or host == self.site or host.endswith(f".{self.site}")


class _QuestionParser:
    def __init__(self) -> None:
        self.kept: list[str] = []
        self.all_of: list[list[Phrase]] = []
        self.none_of: list[Phrase] = []
        self.firm: set[int] = set()
        self.site = ""
        self._choosing = False  # after an OR
        self._left = MAX_WORDS

    def take(self, part: re.Match[str]) -> None:
        minus, word = bool(part["minus"]), part["word"] or ""
        if word in _OR and not minus:
            self._choosing = bool(self.all_of)
            self.kept.append(part[0])
        elif not minus and word.lower().startswith("site:") and (host := _host_or_none(word[5:])):
            self.site = host
        else:
            phrase = tuple(words(part["phrase"] or word, self._left))
            if word.endswith("*") and phrase and len(phrase[-1]) >= MIN_PREFIX_CHARS:
                phrase = (*phrase[:-1], f"{phrase[-1]}*")
            self._take_phrase(phrase, minus=minus, quoted=part["phrase"] is not None)
            self.kept.append(part[0])

    def _take_phrase(self, phrase: Phrase, *, minus: bool, quoted: bool) -> None:
        if not phrase:
            return
        self._left -= len(phrase)
        if minus:
            self.none_of.append(phrase)
        elif self._choosing:
            self.all_of[-1].append(phrase)
        else:
            self.all_of.append([phrase])
        if quoted and not minus:
            self.firm.add(len(self.all_of) - 1)
        self._choosing = False


def _host(text: str) -> str:
    host = _host_or_none(text)
    if host is None:
        raise validation_error(
            f"`site` is {text[:100]!r}, which is no host name.", hint="Write it like this: example.com"
        )
    return host


def _host_or_none(text: str) -> str | None:
    try:
        url = Url.parse(f"https://{text.strip().removeprefix('*.').strip('.')}/")
    except Problem:
        return None
    return url.host if url.href == f"https://{url.host}/" and _HOST.fullmatch(url.host) else None
