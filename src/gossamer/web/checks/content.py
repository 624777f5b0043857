"""Content: whether there is enough to read, and whether it is the page's own."""

import re
from datetime import UTC, datetime
from typing import Final

from gossamer.web.checks.rule import Answer, Asking, Severity, Theme, nothing
from gossamer.web.checks.subject import Subject
from gossamer.web.outcome import Outcome
from gossamer.web.sketch import weight

THIN: Final = 1_200  # letters, about 200 words
LOW_RATIO: Final = 0.08  # of the HTML is text
OLD: Final = 2 * 365  # days
REPEATED: Final = 120  # letters of a paragraph that should stand once
_FILLER: Final = re.compile(
    r"lorem ipsum|dolor sit amet|\bTODO:|\[(?:insert|placeholder|your) [^\]]{1,40}\]", re.I
)

check = Asking(Theme.CONTENT)


@check(
    "content-empty",
    Severity.CRITICAL,
    title="There is nothing to read",
    passed="There is something to read",
    why="A page without text is found for nothing and quoted by nobody.",
    fix="Let the server send the text with the page.",
    html=False,
)
def content_empty(subject: Subject) -> Answer:
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
def content_thin(subject: Subject) -> Answer:
    length = weight(subject.reading.text)
    if not length:
        return nothing("text")
    return [f"{subject.reading.words:,} words of main content"] if length < THIN else []


@check(
    "content-ratio",
    Severity.MINOR,
    title="The page is mostly markup",
    passed="The page has enough text for its markup",
    why="Readers load many times what they read; most often it is script and style written into the page.",
    fix="Move scripts, styles and data into files, and take out wrappers that do nothing.",
)
def content_ratio(subject: Subject) -> Answer:
    text, html = len(subject.reading.text), len(subject.html)
    if not text or not html:
        return nothing("text")
    return [f"{text / html:.1%} of the HTML is text"] if text / html < LOW_RATIO else []


@check(
    "content-filler",
    Severity.SERIOUS,
    title="Filler text was left on the page",
    passed="No filler text was left on the page",
    why="It tells everybody that the page is not finished.",
    fix="Replace it with what was meant to stand there.",
)
def content_filler(subject: Subject) -> Answer:
    return list(dict.fromkeys(match[0] for match in _FILLER.finditer(subject.reading.text[:500_000])))


@check(
    "content-repeated",
    Severity.MINOR,
    title="Paragraphs stand on the page twice",
    passed="No paragraph stands on the page twice",
    why="It looks like a mistake, and costs readers and models time.",
    fix="Keep one of them. Versions for phone and desktop can share their text.",
)
def content_repeated(subject: Subject) -> Answer:
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
    why="Search engines and agents prefer what is up to date, where the date matters.",
    fix="Look whether it is still right, and state the date of the last change.",
)
def content_old(subject: Subject) -> Answer:
    stated = subject.reading.metadata.modified_at or subject.reading.metadata.published_at
    if not stated:
        return nothing("date")
    days = (datetime.fromtimestamp(subject.now, UTC).date() - datetime.fromisoformat(stated[:10]).date()).days
    return [f"dated {stated[:10]}, {days // 365} years ago"] if days > OLD else []


CHECKS: Final = (content_empty, content_thin, content_ratio, content_filler, content_repeated, content_old)
