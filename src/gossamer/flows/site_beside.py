"""What a site keeps beside its pages, and what it does about addresses that it has not given to any."""

import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gossamer.flows.audit import Auditor, Beside
from gossamer.problems import Problem
from gossamer.web import robots, sitemap
from gossamer.web.audit import File, LinkCheck
from gossamer.web.page import Page
from gossamer.web.site_checks.sight import Form
from gossamer.web.site_checks.site import SitePage
from gossamer.web.url import Url, digest

MOST_SITEMAPS: Final = 50  # files
MOST_LISTED: Final = 50_000  # addresses
MOST_NAMED: Final = 1_000  # pages in llms.txt
_MARKDOWN_LINK: Final = re.compile(r"\]\(\s*<?([^\s)<>]{1,2000})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    files: Beside
    listed: tuple[str, ...] | None  # by sitemaps; None: there are none
    named: tuple[str, ...] | None  # in llms.txt; None: there is none
    missing_url: str
    missing_status: int | None


async def surroundings(auditor: Auditor, start: Page, form: Form) -> Surroundings:
    final = Url.parse(start.final_url)
    files = await auditor.beside(start)
    nowhere = final.join(f"/{digest(final.origin)[:20]}")  # the same each time, and nobody's page
    answer = await auditor.attempt(nowhere)
    return Surroundings(
        files=files,
        listed=await _listed(auditor, final, files["robots"], form),
        named=_named(final, files["llms"], form),
        missing_url=nowhere.href,
        missing_status=None if answer is None else answer.status,
    )


async def links_outside(
    auditor: Auditor, pages: Iterable[SitePage], site: str, most: int
) -> tuple[LinkCheck, ...]:
    """How the other sites answer that most pages link to."""
    linked = Counter(
        link.url for page in pages for link in page.links if _host(link.url) not in ("", _host(site))
    )
    wanted = [url for url, _ in linked.most_common(most)]
    return await auditor.try_links(wanted, Url.parse(site).host)


async def _listed(auditor: Auditor, site: Url, rules: File, form: Form) -> tuple[str, ...] | None:
    """The entries of all sitemaps, one file after the other."""
    named = robots.from_answer(rules.status, rules.text).sitemaps if rules.exists else ()
    waiting = deque(named or ("/sitemap.xml",))
    known, found, readable = set(waiting), dict[str, None](), False
    for _ in range(MOST_SITEMAPS):
        if not waiting or len(found) >= MOST_LISTED:
            break
        entries = await _entries(auditor, site, waiting.popleft())
        readable = readable or not entries.problem
        if entries.is_index:
            waiting.extend(url for url in dict.fromkeys(entries.urls) if url not in known)
            known.update(entries.urls)
        else:
            found.update(dict.fromkeys(map(form, entries.urls[:MOST_LISTED])))
    return tuple(found) if readable else None


async def _entries(auditor: Auditor, site: Url, reference: str) -> sitemap.Entries:
    try:
        page = await auditor.attempt(site.join(reference))
    except Problem:
        return sitemap.Entries((), problem="its address is not a URL")
    if page is None or page.status != 200:
        return sitemap.Entries((), problem="it cannot be had")
    return await auditor.entries(page)


def _named(site: Url, guide: File, form: Form) -> tuple[str, ...] | None:
    if not guide.exists:
        return None
    found: dict[str, None] = {}
    for reference in _MARKDOWN_LINK.findall(guide.text)[:MOST_NAMED]:
        try:
            found[form(site.join(reference).href)] = None
        except Problem:
            continue
    return tuple(found)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
