"""SiteLinks: the pages of a site as they are found, each once, and their ranking by words.

A page is known by its cache form, so http and https, a trailing slash and tracking parameters make no second
one. It is shown as it was written first, without fragment and tracking.
"""

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.problems import Problem
from gossamer.web.crawl.scope import Scope
from gossamer.web.search.words import clean, words
from gossamer.web.url.url import Url, cache_form, shared_url

MAX_TITLE_CHARS: Final = 300
MAX_DESCRIPTION_CHARS: Final = 500
MAX_WORDS: Final = 100  # of an address, title or description that are compared
_TITLE_WORTH: Final = 3
_ADDRESS_WORTH: Final = 2


class FoundLink(Struct, frozen=True):
    url: Url
    title: str = ""
    description: str = ""


class SiteLinks(Struct):
    scope: Scope
    ignores_query: bool
    room: int  # links
    is_cut: bool = False  # there was no room for a link
    _links: dict[str, FoundLink] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._links)

    def __iter__(self) -> Iterator[FoundLink]:
        return iter(list(self._links.values()))

    @property
    def is_full(self) -> bool:
        return len(self._links) >= self.room

    def add(self, text: str, title: str = "", description: str = "", base: Url | None = None) -> str:
        """Its key; empty if it is no page of the site. One that is known already gets what it lacks."""
        try:
            url = Url.parse(text, base)
        except Problem:
            return ""
        if self.scope.admits(url, 0):
            return ""
        key = self.key(url)
        known = self._links.get(key)
        if known is None and self.is_full:
            self.is_cut = True
            return key
        known = known or FoundLink(shared_url(self._bare(url)))
        told = known.title or (title and clean(title, MAX_TITLE_CHARS))
        about = known.description or (description and clean(description, MAX_DESCRIPTION_CHARS))
        self._links[key] = FoundLink(known.url, told, about)
        return key

    def describe(self, url: Url, title: str, description: str) -> None:
        """Say what a page that was read calls itself: this counts more than what others call it."""
        known = self._links.get(self.add(url.href))
        if known is not None:
            told = clean(title, MAX_TITLE_CHARS) or known.title
            about = clean(description, MAX_DESCRIPTION_CHARS) or known.description
            self._links[self.key(url)] = FoundLink(known.url, told, about)

    def drop(self, url: Url) -> None:
        self._links.pop(self.key(url), None)

    def key(self, url: Url) -> str:
        return cache_form(self._bare(url))

    def _bare(self, url: Url) -> Url:
        if not self.ignores_query:
            return url
        return replace(url, href=url.href.partition("#")[0].partition("?")[0], query="")


def rank(links: Iterable[FoundLink], search: str) -> list[FoundLink]:
    """Those with one of the words, those with most of them first. Links that are equally good keep their
    order."""
    wanted = list(dict.fromkeys(words(search, MAX_WORDS)))
    rated = [(_rate(link, wanted), link) for link in links]
    return [link for (hits, _), link in sorted(rated, key=lambda one: one[0], reverse=True) if hits]


def _rate(link: FoundLink, wanted: list[str]) -> tuple[int, int]:
    """How many of the words it has, and what the places are worth in which it has them."""
    address = " ".join(words(unquote(link.url.target), MAX_WORDS))
    title, about = set(words(link.title, MAX_WORDS)), set(words(link.description, MAX_WORDS))
    hits = worth = 0
    for word in wanted:
        found = _TITLE_WORTH * (word in title) + _ADDRESS_WORTH * (word in address) + (word in about)
        hits += found > 0
        worth += found
    return hits, worth
