"""Headings: the outline by which people skim a page and machines divide it."""

from itertools import pairwise
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Heading, Subject
from gossamer.web.html.markup_scan import weight

LONG_TEXT: Final = 4_000  # letters that want a heading between them
MAX_HEADING_CHARS: Final = 150

check = CheckMaker[Subject](Theme.HEADINGS, "page")


@check(
    "h1-missing",
    Severity.MODERATE,
    title="The page has no main heading",
    passed="The page has a main heading",
    why="The main heading tells readers, search engines and models what the whole text is about.",
    fix="Give the page one `<h1>` that names its subject.",
)
def h1_missing(subject: Subject) -> PageAnswer:
    return [] if any(one.level == 1 and one.text for one in subject.headings) else ["no `<h1>` with text"]


@check(
    "h1-several",
    Severity.MINOR,
    title="The page has several main headings",
    passed="The page has no second main heading",
    why="Several subjects of the same rank blur what the page is about.",
    fix="Keep one `<h1>` and make the others `<h2>`.",
)
def h1_several(subject: Subject) -> PageAnswer:
    tops = [one.text for one in subject.headings if one.level == 1 and one.text]
    return tops if len(tops) > 1 else []


@check(
    "heading-empty",
    Severity.MINOR,
    title="A heading has no text",
    passed="Every heading has text",
    why="Screen readers announce it, and outlines show a gap.",
    fix="Remove empty headings, and use styles instead of headings for space.",
)
def heading_empty(subject: Subject) -> PageAnswer:
    if not subject.headings:
        return page_has_no("headings")
    return [f"`<h{one.level}>` number {at}" for at, one in enumerate(subject.headings, 1) if not one.text]


@check(
    "heading-skipped",
    Severity.MINOR,
    title="A level of headings is left out",
    passed="The levels of headings follow one another",
    why="Screen readers and programs lose their way in an outline where a level is missing.",
    fix="Go down one level at a time: `<h2>` below `<h1>`, `<h3>` below `<h2>`.",
)
def heading_skipped(subject: Subject) -> PageAnswer:
    named = [one for one in subject.headings if one.text]
    if not named:
        return page_has_no("headings")
    return [
        f"`<h{after.level}>` after `<h{before.level}>`: {after.text}"
        for before, after in pairwise([Heading(named[0].level, ""), *named])
        if after.level > before.level + 1
    ]


@check(
    "heading-sparse",
    Severity.MINOR,
    title="A long text has no headings in it",
    passed="The text is divided by headings",
    why="People skim by headings, and retrieval cuts texts into passages by them.",
    fix="Put an `<h2>` above every change of subject.",
)
def heading_sparse(subject: Subject) -> PageAnswer:
    length = weight(subject.reading.text)
    if length < LONG_TEXT or any(one.level > 1 and one.text for one in subject.headings):
        return []
    return [f"{subject.reading.words:,} words without a heading below the main one"]


@check(
    "heading-long",
    Severity.MINOR,
    title="A heading is as long as a paragraph",
    passed="Headings are short",
    why="Readers skim headings; they do not read long ones.",
    fix=f"Keep headings below {MAX_HEADING_CHARS} characters, and put the rest into the text.",
)
def heading_long(subject: Subject) -> PageAnswer:
    if not subject.headings:
        return page_has_no("headings")
    return [one.text for one in subject.headings if weight(one.text) > MAX_HEADING_CHARS]


CHECKS: Final = (h1_missing, h1_several, heading_empty, heading_skipped, heading_sparse, heading_long)
