"""Content: whether there is enough to read, and whether it is the page's own."""

import re
from datetime import UTC, datetime
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Subject
from gossamer.web.html.markup_scan import weight
from gossamer.web.outcome.outcome import Outcome

THIN: Final = 1_200  # letters, about 200 words
LOW_RATIO: Final = 0.08  # of the HTML is text
OLD: Final = 2 * 365  # days
REPEATED: Final = 120  # letters of a paragraph that should stand once
_FILLER: Final = re.compile(
    r"lorem ipsum|dolor sit amet|\bTODO:|\[(?:insert|placeholder|your) [^\]]{1,40}\]", re.I
)

check = CheckMaker[Subject](Theme.CONTENT, "page")


@check(
    "content-empty",
    Severity.CRITICAL,
    title="There is nothing to read",
    passed="There is something to read",
    why="A page without text is found for no search, and no agent quotes it.",
    fix="Let the server send the text with the page.",
    html=False,
)
def content_empty(subject: Subject) -> PageAnswer:
    empty = subject.reading.judgement.outcome is Outcome.EMPTY or not subject.reading.text.strip()
    return [subject.reading.judgement.reason or "no text"] if empty else []


@check(
    "content-thin",
    Severity.MODERATE,
    title="There is little to read",
    passed="There is enough to read",
    why="Pages that say little are rarely found, and rarely the best answer.",
    fix="Say more on the subject, or join the page with others that say little.",
)
def content_thin(subject: Subject) -> PageAnswer:
    length = weight(subject.reading.text)
    if not length:
        return page_has_no("text")
    return [f"{subject.reading.words:,} words of main content"] if length < THIN else []


@check(
    "content-ratio",
    Severity.MINOR,
    title="The page is mostly markup",
    passed="The page has enough text for its markup",
    why="Readers load many times what they read; most often it is script and style written into the page.",
    fix="Move scripts, styles and data into files, and take out wrappers that do nothing.",
)
def content_ratio(subject: Subject) -> PageAnswer:
    text, html = len(subject.reading.text), len(subject.html)
    if not text or not html:
        return page_has_no("text")
    return [f"{text / html:.1%} of the HTML is text"] if text / html < LOW_RATIO else []


@check(
    "content-filler",
    Severity.SERIOUS,
    title="Filler text was left on the page",
    passed="No filler text was left on the page",
    why="It tells every reader that the page is not finished.",
    fix="Replace it with the text that was meant to be there.",
)
def content_filler(subject: Subject) -> PageAnswer:
    return list(dict.fromkeys(match[0] for match in _FILLER.finditer(subject.reading.text[:500_000])))


@check(
    "content-repeated",
    Severity.MINOR,
    title="Paragraphs stand on the page twice",
    passed="No paragraph stands on the page twice",
    why="It looks like a mistake, and costs readers and models time.",
    fix="Keep one of them. Versions for phone and desktop can share their text.",
)
def content_repeated(subject: Subject) -> PageAnswer:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for paragraph in subject.reading.text.split("\n"):
        plain = paragraph.strip()
        if weight(plain) >= REPEATED:
            if plain in seen:
                twice[plain] = None
            seen.add(plain)
    return list(twice)


@check(
    "content-old",
    Severity.INFO,
    title="The page has not changed for long",
    passed="The page is recent",
    why="Where the date matters, search engines and agents prefer recent pages.",
    fix="Check that it is still right, and state the date of the last change.",
)
def content_old(subject: Subject) -> PageAnswer:
    stated = subject.reading.metadata.modified_at or subject.reading.metadata.published_at
    if not stated:
        return page_has_no("date")
    days = (datetime.fromtimestamp(subject.now, UTC).date() - datetime.fromisoformat(stated[:10]).date()).days
    return [f"dated {stated[:10]}, {days // 365} years ago"] if days > OLD else []


CHECKS: Final = (content_empty, content_thin, content_ratio, content_filler, content_repeated, content_old)
