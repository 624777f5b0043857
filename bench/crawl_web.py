"""A web that is no kinder than the real one: pages of a given size, with menus, tracked links and copies.

/                            home
/SECTION/SLUG-N.html         an article: menu, breadcrumbs, text, related pages, footer
/SECTION/SLUG-N.html         each tenth page: a template with a line of text, as tags and empty lists have
/print/SLUG-N.html           each twentieth: the text of the page before with a few other words, and no menus
?ref=…&utm_source=…          after the links of a third of the lists; means nothing
mailto: tel: #part           in every page; lead nowhere
/private/…                   robots.txt forbids it, and every page links to it

Every host has a language and a template of its own. All is the same each time.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Final

from tests.crawl.web import CHILDREN, Web

from bench.crawl_words import OF_HOSTS, words_of

SECTIONS: Final = 12
CHANGED: Final = 12  # words of a copy that are others
EMPTY_WORDS: Final = 12
HOME: Final = "/"
TRACKING: Final = "?ref={place}&utm_source=site&utm_medium={place}&utm_campaign=c{number}"
MARKUP: Final = 1.07  # bytes of text with its emphasis and paragraphs, by bytes of text
SCRIPT: Final = (
    "window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}"
    "gtag('js',new Date());document.documentElement.className+=' js';"
)
STYLE: Final = "body{margin:0;font:16px/1.5 sans-serif}nav ul{display:flex;gap:1em;list-style:none}"


@dataclass(frozen=True)
class VariedWeb:
    hosts: int
    pages: int  # of each host
    port: int
    size: int  # bytes of an article, about
    links: int  # of a list in it; there are four

    @cached_property
    def places(self) -> Web:
        """Where the hosts are."""
        return Web(hosts=self.hosts, pages=self.pages, port=self.port)

    def host(self, number: int) -> "VariedHost":
        return VariedHost(self, number)


class VariedHost:
    def __init__(self, web: VariedWeb, number: int) -> None:
        self.web = web
        self.number = number
        self.words = words_of(OF_HOSTS[number % len(OF_HOSTS)])
        chance = random.Random(f"host {number}")
        slugs = words_of("en")
        self.sections = ["-".join(slugs.draw(chance, 2)) for _ in range(SECTIONS)]
        self._slugs = ["-".join(slugs.draw(chance, 4)) for _ in range(web.pages)]
        self.name = self._phrase(chance, 3)
        self._classes = [f"c-{chance.randrange(16**6):06x}" for _ in range(8)]
        self._titles = [self._phrase(chance, 6) for _ in range(web.pages)]
        self._menu = self._list(
            "menu", [(self.path(section % web.pages), self._phrase(chance, 1)) for section in range(SECTIONS)]
        )
        self._footer = self._made_footer(chance)

    def robots(self) -> bytes:
        return b"User-agent: *\nDisallow: /private/\n"

    def path(self, page: int) -> str:
        if not page:
            return HOME
        folder = "print" if _is_copy(page) else self.sections[page % SECTIONS]
        return f"/{folder}/{self._slugs[page]}-{page}.html"

    def page(self, page: int) -> bytes:
        if _is_copy(page):
            return self._copy(page)
        chance = random.Random(f"page {self.number} {page}")
        before, after = self._around(page, chance)
        count = EMPTY_WORDS if _is_empty(page) else self._count(len((before + after).encode()))
        return (before + self._article(page, self._text(page, count), chance) + after).encode()

    def _count(self, taken: int) -> int:
        return max(round((self.web.size - taken) / (self.words.bytes * MARKUP)), 50)

    def _text(self, page: int, count: int) -> list[str]:
        return self.words.draw(random.Random(f"text {self.number} {page}"), count)

    def _copy(self, page: int) -> bytes:
        """The text of the page before without menus, and with a few other words."""
        original = random.Random(f"page {self.number} {page - 1}")
        before, after = self._around(page - 1, original)
        text = self._text(page - 1, self._count(len((before + after).encode())))
        chance = random.Random(f"copy {self.number} {page}")
        for word in self.words.draw(chance, CHANGED):
            text[chance.randrange(len(text))] = word
        article = self._article(page - 1, text, original)
        links = self._list("print", list(self._children(page)))
        return f"{self._head(page)}<body>\n{article}{links}</body>\n</html>\n".encode()

    def _around(self, page: int, chance: random.Random) -> tuple[str, str]:
        outer, inner, aside = self._classes[:3]
        section = self.sections[page % SECTIONS]
        above = f'<a href="/">{self.name}</a> / <a href="{self.path(page % SECTIONS)}">{section}</a>'
        logo = f'<a href="/" class="logo">{self.name}</a>'
        before = (
            f'{self._head(page)}<body class="{outer}">\n<header>{logo}{self._menu}</header>\n'
            f'<nav class="crumbs">{above}</nav>\n<main class="{inner}">\n'
        )
        others = [self._drawn(chance) for _ in range(self.web.links)]
        latest = [
            (path + self._tracking("latest", chance), text)
            for path, text in map(self._drawn, [chance] * self.web.links)
        ]
        after = (
            f'</main>\n<aside class="{aside}">{self._list("related", [*self._children(page), *others])}'
            f"{self._list('latest', latest)}</aside>\n{self._footer}</body>\n</html>\n"
        )
        return before, after

    def _head(self, page: int) -> str:
        title, url = self._titles[page], self.web.places.url(self.number, self.path(page))
        words = self.words.join(self._text(page, 20))
        return (
            f'<!doctype html>\n<html lang="{self.words.code}">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{title} | {self.name}</title>\n"
            f'<meta name="description" content="{words}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta property="og:title" content="{title}">\n<meta property="og:url" content="{url}">\n'
            f'<link rel="stylesheet" href="/assets/site.css">\n'
            f"<style>{STYLE}</style>\n<script>{SCRIPT}</script>\n</head>\n"
        )

    def _article(self, page: int, text: list[str], chance: random.Random) -> str:
        parts = [f'<article class="{self._classes[3]}">\n<h1>{self._titles[page]}</h1>\n']
        day = page % 9 + 1
        by = self._phrase(chance, 2)
        parts.append(f'<p class="by">{by}, <time datetime="2026-03-0{day}">3/{day}</time></p>\n')
        at = 0
        while at < len(text):
            paragraph = chance.randint(40, 120)
            if chance.random() < 0.2:
                parts.append(f"<h2>{self._phrase(chance, 4)}</h2>\n")
            parts.append(f"<p>{''.join(self._sentences(text[at : at + paragraph], chance))}</p>\n")
            at += paragraph
        return "".join([*parts, "</article>\n"])

    def _sentences(self, words: list[str], chance: random.Random) -> Iterator[str]:
        at = 0
        while at < len(words):
            sentence = words[at : at + chance.randint(6, 22)]
            at += len(sentence)
            kind = chance.random()
            if kind < 0.05:
                path, _ = self._drawn(chance)
                sentence[-1] = f'<a href="{path}">{sentence[-1]}</a>'
            elif kind < 0.15:
                sentence[0] = f"<em>{sentence[0]}</em>"
            yield self.words.join(sentence).capitalize() + self.words.stop

    def _children(self, page: int) -> Iterator[tuple[str, str]]:
        """So that every page is reached."""
        for child in range(page * CHILDREN + 1, page * CHILDREN + CHILDREN + 1):
            if child < self.web.pages:
                yield self.path(child), self._titles[child]

    def _drawn(self, chance: random.Random) -> tuple[str, str]:
        page = chance.randrange(self.web.pages)
        return self.path(page), self._titles[page]

    def _made_footer(self, chance: random.Random) -> str:
        places = self.web.places
        near = [(places.url(chance.randrange(self.web.hosts)), self._phrase(chance, 2)) for _ in range(3)]
        own = [self._drawn(chance) for _ in range(self.web.links)]
        odd = [
            ("mailto:office@site.example?subject=Question", "office@site.example"),
            ("tel:+15550100", "+1 555 0100"),
            ("#top", "↑"),
            ("javascript:void(0)", self._phrase(chance, 1)),
            ("/private/room", self._phrase(chance, 1)),
            *(
                (f"https://share.example/{name}?u={self.number}&amp;ref=footer", name)
                for name in ("a", "b", "c")
            ),
        ]
        return f'<footer class="{self._classes[4]}">{self._list("footer", [*own, *near, *odd])}</footer>\n'

    def _list(self, name: str, links: list[tuple[str, str]]) -> str:
        items = "\n".join(
            f'<li class="{self._classes[5]}"><a href="{url}">{text}</a></li>' for url, text in links
        )
        return f'<nav aria-label="{name}"><ul class="{self._classes[6]}">\n{items}\n</ul></nav>\n'

    def _tracking(self, place: str, chance: random.Random) -> str:
        return (
            escape(TRACKING.format(place=place, number=chance.randrange(9))) if chance.random() < 0.7 else ""
        )

    def _phrase(self, chance: random.Random, count: int) -> str:
        return self.words.join(self.words.draw(chance, count)).capitalize()


def _is_copy(page: int) -> bool:
    return page % 20 == 13


def _is_empty(page: int) -> bool:
    return page % 10 == 9
