"""llms.txt: a guide to a site for language models, by the format of llmstxt.org.

    # Title
    > Summary
    ## Section
    - [Page](https://example.com/page): what it is about

Sections follow the first folders of the addresses. Lists of other pages are `Optional`, which the format lets
readers skip. llms-full.txt has the text of the pages, too. What pages say of themselves is one escaped line,
which ends neither a link nor a line. A page's text stands between two marks that contain a hash of the text,
so no text can contain its own mark.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from gossamer.web.crawl.priority import LOW, priority_of
from gossamer.web.search.words import clean
from gossamer.web.url.url import Url, digest

MAX_TITLE_CHARS: Final = 200
MAX_DESCRIPTION_CHARS: Final = 300
MAX_SECTIONS: Final = 20
MAX_PAGE_CHARS: Final = 200_000  # of one page in llms-full.txt
MIN_SECTION: Final = 2  # pages; others belong to no section of their own
FIRST: Final = "Pages"
MORE: Final = "The site has more pages than are listed here."
CUT: Final = "\n<!-- cut: the site has more pages than this file has room for -->\n"
OPTIONAL: Final = "Optional"
_SPECIAL: Final = re.compile(r"[\\\[\]<>`*_]")
_MARK_CHARS: Final = 12


def is_listed(duplicate_of: str | None, directives: Iterable[str]) -> bool:
    """Whether a guide names a page that is what was asked for."""
    return duplicate_of is None and "noindex" not in directives


class GuidePage(Struct, frozen=True):
    """A page of a site, as a guide to it names the page."""

    url: Url
    title: str = ""
    description: str = ""

    @property
    def line(self) -> str:
        about = escape(self.description, MAX_DESCRIPTION_CHARS)
        return f"- [{self.name}]({_target(self.url)})" + (f": {about}" if about else "")

    @property
    def site_title(self) -> str:
        """The title of a guide that begins with this page."""
        return self.title or self.url.host

    @property
    def name(self) -> str:
        return escape(self.title, MAX_TITLE_CHARS) or escape(self.url.target, MAX_TITLE_CHARS)


def guide(title: str, summary: str, pages: Iterable[GuidePage], *, is_cut: bool = False) -> str:
    """The llms.txt of a site. `is_cut`: it has more pages than these."""
    known = {page.url.href: page for page in pages}
    ordered = sorted(known.values(), key=lambda page: page.url.href)
    parts = [head(title, summary), *([f"{MORE}\n"] if is_cut else [])]
    for name, listed in _sections(ordered):
        parts.append(f"## {name}\n\n" + "".join(f"{page.line}\n" for page in listed))
    return "\n".join(parts)


def head(title: str, summary: str) -> str:
    told = escape(summary, MAX_DESCRIPTION_CHARS)
    return f"# {escape(title, MAX_TITLE_CHARS)}\n" + (f"\n> {told}\n" if told else "")


def full_part(page: GuidePage, markdown: str) -> str:
    """A page in llms-full.txt."""
    text = markdown.replace("\0", "")[:MAX_PAGE_CHARS].strip()
    mark = digest(f"{page.url.href}\n{text}")[:_MARK_CHARS]
    whole = f"# {page.name}\n\nSource: {_target(page.url)}\n\n{text}"
    return f"\n<!-- page {mark} -->\n{whole}\n<!-- end {mark} -->\n"


def escape(text: str, longest: int) -> str:
    """One line of text that means nothing in markdown."""
    return _SPECIAL.sub(lambda sign: f"\\{sign[0]}", clean(text, longest))


def _target(url: Url) -> str:
    """Parentheses would end the link."""
    return url.href.partition("#")[0].replace("(", "%28").replace(")", "%29")


def _sections(pages: Sequence[GuidePage]) -> list[tuple[str, list[GuidePage]]]:
    """Pages without a section first, `Optional` last, and the others by name."""
    found: dict[str, list[GuidePage]] = defaultdict(list)
    for page in pages:
        found[_section(page.url)].append(page)
    named = sorted(
        (name for name in found if name not in (FIRST, OPTIONAL)), key=lambda name: -len(found[name])
    )
    small = [name for at, name in enumerate(named) if at >= MAX_SECTIONS or len(found[name]) < MIN_SECTION]
    for name in small:
        found[FIRST] += found.pop(name)
    found[FIRST].sort(key=lambda page: page.url.href)
    order = [FIRST, *sorted(found.keys() - {FIRST, OPTIONAL}), OPTIONAL]
    return [(name, found[name]) for name in order if found.get(name)]


def _section(url: Url) -> str:
    if priority_of(url, 1) == LOW:
        return OPTIONAL
    first, slash, _ = url.path.removeprefix("/").partition("/")
    words = " ".join(re.findall(r"[A-Za-z0-9]+", first)[:6])
    if not slash or not words or words.title() in (FIRST, OPTIONAL):
        return FIRST
    return words[:1].upper() + words[1:]
