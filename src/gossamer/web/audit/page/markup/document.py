"""Document: the frame around everything else on the page."""

import re
from collections import Counter
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Subject, attribute, find_broken

MAX_ELEMENTS: Final = 3_000
MAX_DEPTH: Final = 32
EARLY: Final = 1_024  # bytes in which browsers look for the charset
_DOCTYPE: Final = re.compile(
    r"(?:\ufeff|\s++|<!--(?:(?!-->).)*+-->|<\?[^>]*+>)*+<!doctype\s+html", re.I | re.S
)
_META_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset", re.I)
_NO_ZOOM: Final = re.compile(
    r"user-scalable\s*=\s*(?:no|0)|maximum-scale\s*=\s*(?:0|1(?:\.[0-4]\d*)?)\s*(?:,|;|$)", re.I
)
_OBSOLETE: Final = "font, center, marquee, blink, frameset, frame, big, strike, tt, applet, basefont, dir"

check = CheckMaker[Subject](Theme.DOCUMENT, "page")


@check(
    "resources-broken",
    Severity.SERIOUS,
    title="Scripts or styles cannot be loaded",
    passed="Every checked script and style can be loaded",
    why="Parts of the page do not work or look broken, and robots that render it see the same.",
    fix="Correct the addresses, or put the files back. A page in the place of a file is an error too.",
)
def resources_broken(subject: Subject) -> PageAnswer:
    return find_broken(subject, lambda one: one.kind in ("script", "style"), "checked scripts or styles")


@check(
    "doctype-missing",
    Severity.MINOR,
    title="The document type is missing",
    passed="The document type is stated",
    why="Without it browsers imitate those of the nineties, and layouts shift.",
    fix="Begin the page with `<!doctype html>`.",
)
def doctype_missing(subject: Subject) -> PageAnswer:
    return [] if _DOCTYPE.match(subject.html[:5_000]) else ["the page begins without `<!doctype html>`"]


@check(
    "charset-missing",
    Severity.MODERATE,
    title="The character encoding is not stated",
    passed="The character encoding is stated",
    why="It has to be guessed, and umlauts and quotation marks turn to rubbish where the guess is wrong.",
    fix='Send `Content-Type: text/html; charset=utf-8` or begin the head with `<meta charset="utf-8">`.',
)
def charset_missing(subject: Subject) -> PageAnswer:
    stated = "charset" in (subject.page.header("content-type") or "").lower()
    body = subject.page.body
    marked = body.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    if stated or marked or _META_CHARSET.search(body[:EARLY]):
        return []
    late = _META_CHARSET.search(body[: EARLY * 20])
    return ["it stands too late in the page" if late else "neither in the header nor in the head"]


@check(
    "charset-legacy",
    Severity.MINOR,
    title="The page is not in UTF-8",
    passed="The page is in UTF-8",
    why="Other encodings have to be converted, and forms may send text that the server does not understand.",
    fix="Save and send the page as UTF-8.",
)
def charset_legacy(subject: Subject) -> PageAnswer:
    charset = subject.page.charset.lower()
    return [] if charset in ("utf-8", "utf8", "ascii", "us-ascii") else [charset[:40]]


@check(
    "viewport-missing",
    Severity.SERIOUS,
    title="The page is not made for phones",
    passed="The page is made for phones",
    why="Without a viewport, phones show a shrunken desktop page. Search engines judge the phone's view.",
    fix='Add `<meta name="viewport" content="width=device-width, initial-scale=1">`.',
)
def viewport_missing(subject: Subject) -> PageAnswer:
    stated = subject.meta("viewport")
    if not stated:
        return ["no viewport"]
    return [] if "device-width" in stated.lower() or "initial-scale" in stated.lower() else [stated]


@check(
    "viewport-zoom",
    Severity.MODERATE,
    title="The page forbids zooming",
    passed="The page may be zoomed",
    why="People who need larger letters cannot get them (WCAG 1.4.4).",
    fix="Remove `user-scalable=no` and `maximum-scale` from the viewport.",
)
def viewport_zoom(subject: Subject) -> PageAnswer:
    stated = subject.meta("viewport")
    if not stated:
        return page_has_no("viewport")
    return [stated] if _NO_ZOOM.search(stated) else []


@check(
    "dom-size",
    Severity.MINOR,
    title="The page has very many elements",
    passed="The page has a reasonable number of elements",
    why="Every change of layout costs time in proportion; phones notice first.",
    fix=f"Divide a page of more than {MAX_ELEMENTS:,} elements, or show parts of it on demand.",
)
def dom_size(subject: Subject) -> PageAnswer:
    count, _ = subject.elements
    return [f"{count:,} elements"] if count > MAX_ELEMENTS else []


@check(
    "dom-depth",
    Severity.MINOR,
    title="Elements are nested very deeply",
    passed="Elements are not nested too deeply",
    why="Deep nesting makes styles slow and text hard to tell from its wrapping.",
    fix=f"Take out wrappers that do nothing; {MAX_DEPTH} levels are plenty.",
)
def dom_depth(subject: Subject) -> PageAnswer:
    _, deepest = subject.elements
    return [f"{deepest} levels"] if deepest > MAX_DEPTH else []


@check(
    "ids-twice",
    Severity.MINOR,
    title="An id is used twice",
    passed="Every id is used once",
    why="Links, labels and scripts find the first one only.",
    fix="Give each element a different id.",
)
def ids_twice(subject: Subject) -> PageAnswer:
    counts = Counter(attribute(node, "id") for node in subject.tree.css("[id]"))
    return [f"id={name[:80]} {count} times" for name, count in counts.items() if name and count > 1]


@check(
    "favicon-missing",
    Severity.MINOR,
    title="The page names no icon",
    passed="The page names an icon",
    why="Tabs, bookmarks and search results show a blank sheet.",
    fix='Add `<link rel="icon" href="/favicon.svg">`.',
)
def favicon_missing(subject: Subject) -> PageAnswer:
    icon = subject.tree.css_first("link[rel~='icon' i][href], link[rel~='apple-touch-icon' i][href]")
    return [] if icon is not None else ['no `<link rel="icon">`']


@check(
    "obsolete-elements",
    Severity.MINOR,
    title="The page uses elements of the nineties",
    passed="The page uses no obsolete elements",
    why="Browsers support them only for old pages, they mean nothing to machines, and support may end.",
    fix="Use styles instead.",
)
def obsolete_elements(subject: Subject) -> PageAnswer:
    counts = Counter(node.tag for node in subject.tree.css(_OBSOLETE))
    return [f"`<{tag}>` {count} times" for tag, count in counts.items()]


CHECKS: Final = (
    resources_broken,
    doctype_missing,
    charset_missing,
    charset_legacy,
    viewport_missing,
    viewport_zoom,
    dom_size,
    dom_depth,
    ids_twice,
    favicon_missing,
    obsolete_elements,
)
