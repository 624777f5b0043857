"""Speed: how soon the page is there, and what a second visit costs."""

import re
from typing import Final

from selectolax.lexbor import LexborNode

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Subject, attribute, is_within

SLOW: Final = 800  # milliseconds to the first byte
VERY_SLOW: Final = 2_500
HEAVY: Final = 500_000  # bytes of HTML
WORTH_COMPRESSING: Final = 1_400  # bytes; less fits into one packet
MANY_FILES: Final = 60
BLOCKING: Final = 3
INLINE: Final = 100_000  # characters of script and style in the page
_DATA_TYPES: Final = re.compile(r"json|template|importmap|speculationrules|text/(?:html|x-)", re.I)

check = CheckMaker[Subject](Theme.SPEED, "page")


@check(
    "first-byte",
    Severity.MODERATE,
    title="The server takes long to answer",
    passed="The server answers quickly",
    why="Nothing can be shown before the first byte; robots visit slow sites less often.",
    fix=f"Cache the page on the server or at the edge, until the first byte takes less than {SLOW} ms.",
    html=False,
)
def first_byte(subject: Subject) -> PageAnswer:
    taken = subject.page.first_byte_ms
    return [f"{taken:,} ms to the first byte"] if SLOW < taken <= VERY_SLOW else []


@check(
    "first-byte-very-slow",
    Severity.SERIOUS,
    title="The server takes very long to answer",
    passed="The server answers before its readers leave",
    why="Half of the readers are gone by then, and agents give up.",
    fix="Find out what the server waits for: most often a database, or another server.",
    html=False,
)
def first_byte_very_slow(subject: Subject) -> PageAnswer:
    taken = subject.page.first_byte_ms
    return [f"{taken:,} ms to the first byte"] if taken > VERY_SLOW else []


@check(
    "html-weight",
    Severity.MODERATE,
    title="The page is heavy",
    passed="The page is light",
    why="All of it has to be loaded and parsed before it is complete, and robots stop reading at a limit.",
    fix=f"Keep the HTML below {HEAVY // 1_000} KB: move data, styles and images into files, and divide "
    "long lists.",
)
def html_weight(subject: Subject) -> PageAnswer:
    size = len(subject.page.body)
    return [f"{size / 1_000:,.0f} KB of HTML"] if size > HEAVY else []


@check(
    "compression-missing",
    Severity.MODERATE,
    title="The page is sent uncompressed",
    passed="The page is sent compressed",
    why="Compression shrinks text to a quarter or less; without it every visit takes four times the bytes.",
    fix="Switch on gzip, Brotli or Zstandard in the server.",
    html=False,
)
def compression_missing(subject: Subject) -> PageAnswer:
    size = len(subject.page.body)
    if size < WORTH_COMPRESSING or not subject.reading.text:
        return page_has_no("text worth compressing")
    return (
        [] if (subject.page.header("content-encoding") or "identity") != "identity" else [f"{size:,} bytes"]
    )


@check(
    "cache-unsaid",
    Severity.MINOR,
    title="The page does not say how long it may be kept",
    passed="The page says how long it may be kept",
    why="Browsers and proxies guess, and guess wrong in both directions.",
    fix="Send `Cache-Control`, such as `max-age=300` or `no-cache`.",
    html=False,
)
def cache_unsaid(subject: Subject) -> PageAnswer:
    lifetime = subject.page.header("cache-control") or subject.page.header("expires")
    return [] if lifetime else ["neither Cache-Control nor Expires"]


@check(
    "cache-no-validator",
    Severity.MINOR,
    title="The page cannot be asked whether it has changed",
    passed="The page can be asked whether it has changed",
    why="Every visit of a browser or robot loads it whole, even if nothing is new.",
    fix="Send `ETag` or `Last-Modified`, and answer with 304 when nothing has changed.",
    html=False,
)
def cache_no_validator(subject: Subject) -> PageAnswer:
    known = subject.page.header("etag") or subject.page.header("last-modified")
    return [] if known else ["neither ETag nor Last-Modified"]


@check(
    "cache-forbidden",
    Severity.INFO,
    title="The page may not be kept at all",
    passed="The page may be kept",
    why="`no-store` also switches off the browsers' instant back button. For private pages that is right.",
    fix="For public pages, `no-cache` is enough: it keeps a copy and asks whether it is still good.",
    html=False,
)
def cache_forbidden(subject: Subject) -> PageAnswer:
    rules = ", ".join(subject.headers("cache-control"))
    return [rules] if "no-store" in rules.lower() else []


@check(
    "blocking-scripts",
    Severity.MINOR,
    title="Scripts in the head hold up the page",
    passed="Few scripts hold up the page",
    why="The parser waits for each of them before it shows a word.",
    fix="Load them with `defer`, `async` or as modules.",
)
def blocking_scripts(subject: Subject) -> PageAnswer:
    found = [attribute(node, "src")[:200] for node in subject.scripts if _blocks(node)]
    return found if len(found) >= BLOCKING else []


@check(
    "many-files",
    Severity.MINOR,
    title="The page asks for very many files",
    passed="The page asks for a reasonable number of files",
    why="Each costs a request; on a slow line they queue.",
    fix="Join and drop scripts and styles, and load images when they are needed.",
)
def many_files(subject: Subject) -> PageAnswer:
    files = subject.tree.css(
        "script[src], link[rel~='stylesheet' i][href], iframe[src], video[src], audio[src]"
    )
    pictures = [
        one for one in subject.images if (one.get("loading") or "").lower() != "lazy" and one.get("src")
    ]
    count = len(files) + len(pictures)
    return [f"{count} files besides the page"] if count > MANY_FILES else []


@check(
    "inline-weight",
    Severity.MINOR,
    title="Much script or style is written into the page",
    passed="Little script and style is written into the page",
    why="It is sent again with every page and cannot be kept.",
    fix="Move it into files that browsers can keep.",
)
def inline_weight(subject: Subject) -> PageAnswer:
    inline = [*subject.scripts, *subject.tree.css("style")]
    size = sum(len(node.text() or "") for node in inline)
    return [f"{size / 1_000:,.0f} KB of {len(subject.html) / 1_000:,.0f} KB"] if size > INLINE else []


def _blocks(script: LexborNode) -> bool:
    attributes = script.attributes
    if not attributes.get("src") or "async" in attributes or "defer" in attributes:
        return False
    kind = (attributes.get("type") or "").lower()
    return kind != "module" and not _DATA_TYPES.search(kind) and is_within(script, "head")


CHECKS: Final = (
    first_byte,
    first_byte_very_slow,
    html_weight,
    compression_missing,
    cache_unsaid,
    cache_no_validator,
    cache_forbidden,
    blocking_scripts,
    many_files,
    inline_weight,
)
