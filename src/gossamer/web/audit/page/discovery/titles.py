"""Title and description: what a search result shows."""

import re
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Subject
from gossamer.web.html.markup_scan import weight

# In letters of an alphabet; an ideograph counts as three, which is about the room that it takes and the sense
# that it makes.
MIN_TITLE_CHARS: Final = 10
MAX_TITLE_CHARS: Final = 65
MIN_DESCRIPTION_CHARS: Final = 50
MAX_DESCRIPTION_CHARS: Final = 165
_PLACEHOLDER: Final = re.compile(
    r"(?:untitled(?: document| page)?|document|home(?:page)?|start(?:seite)?|index(?: of.*)?|"
    r"new (?:page|tab)|"
    r"page|title|website|welcome|react app|vite(?: \+ .*)?|next\.?js.*|create next app|my (?:site|blog|app))",
    re.I,
)

check = CheckMaker[Subject](Theme.TITLES, "page")


@check(
    "title-missing",
    Severity.SERIOUS,
    title="The page has no title",
    passed="The page has a title",
    why="The title is the headline of every search result, tab and bookmark, and the first thing a model "
    "reads.",
    fix="Put a `<title>` into the head that says what this page is about.",
)
def title_missing(subject: Subject) -> PageAnswer:
    return [] if subject.title else ["no `<title>` with text"]


@check(
    "title-several",
    Severity.MODERATE,
    title="The page has several titles",
    passed="The page has no second title",
    why="It is left to chance which of them is shown.",
    fix="Keep one `<title>`, in the head.",
)
def title_several(subject: Subject) -> PageAnswer:
    titles = [title for title in subject.titles if title]
    return titles if len(titles) > 1 else []


@check(
    "title-length",
    Severity.MINOR,
    title="The title is too short or too long",
    passed="The title has a good length",
    why=f"Search results show about {MAX_TITLE_CHARS} characters; fewer than {MIN_TITLE_CHARS} say too "
    "little.",
    fix="Say what is particular to this page first, and keep the name of the site short.",
)
def title_length(subject: Subject) -> PageAnswer:
    if not subject.title:
        return page_has_no("title")
    return _out_of(subject.title, MIN_TITLE_CHARS, MAX_TITLE_CHARS)


@check(
    "title-placeholder",
    Severity.MODERATE,
    title="The title says nothing about the page",
    passed="The title is the page's own",
    why="A title that every page could have is replaced by search engines and overlooked by people.",
    fix="Name what this page is about.",
)
def title_placeholder(subject: Subject) -> PageAnswer:
    if not subject.title:
        return page_has_no("title")
    return [subject.title] if _PLACEHOLDER.fullmatch(subject.title.strip(" .-|")) else []


@check(
    "description-missing",
    Severity.MODERATE,
    title="The page has no description",
    passed="The page has a description",
    why="Without one, search engines cut a snippet out of the text wherever they like.",
    fix='Add `<meta name="description" content="…">` with one or two sentences on what a reader finds here.',
)
def description_missing(subject: Subject) -> PageAnswer:
    return [] if subject.meta("description") else ["no description with text"]


@check(
    "description-several",
    Severity.MINOR,
    title="The page has several descriptions",
    passed="The page has no second description",
    why="It is left to chance which of them is shown.",
    fix='Keep one `<meta name="description">`.',
)
def description_several(subject: Subject) -> PageAnswer:
    found = [text for text in subject.metas.get("description", ()) if text]
    return found if len(found) > 1 else []


@check(
    "description-length",
    Severity.MINOR,
    title="The description is too short or too long",
    passed="The description has a good length",
    why=f"About {MAX_DESCRIPTION_CHARS} characters are shown; fewer than {MIN_DESCRIPTION_CHARS} waste the "
    "room.",
    fix="Write one or two full sentences, the most important words first.",
)
def description_length(subject: Subject) -> PageAnswer:
    description = subject.meta("description")
    if not description:
        return page_has_no("description")
    return _out_of(description, MIN_DESCRIPTION_CHARS, MAX_DESCRIPTION_CHARS)


@check(
    "description-repeats-title",
    Severity.MINOR,
    title="The description repeats the title",
    passed="The description says more than the title",
    why="The second line of a search result should add to the first.",
    fix="Say in the description what a reader gains from the page.",
)
def description_repeats_title(subject: Subject) -> PageAnswer:
    description = subject.meta("description")
    if not description:
        return page_has_no("description")
    return [description] if _same(description, subject.title) else []


@check(
    "title-is-heading",
    Severity.INFO,
    title="The title and the main heading are the same",
    passed="The title and the main heading are worded for their places",
    why="That is fine; but the title is read among other results, where the name of the site helps.",
    fix="If it fits, add the site's name to the title.",
)
def title_is_heading(subject: Subject) -> PageAnswer:
    tops = [heading.text for heading in subject.headings if heading.level == 1]
    if not tops or not subject.title:
        return page_has_no("title and main heading")
    return [subject.title] if any(_same(subject.title, top) for top in tops) else []


def _out_of(text: str, least: int, most: int) -> list[str]:
    length = weight(text)
    if least <= length <= most:
        return []
    return [f"{length} characters, where {least} to {most} are good: {text}"]


def _same(one: str, other: str) -> bool:
    return one.casefold().strip(" .!") == other.casefold().strip(" .!")


CHECKS: Final = (
    title_missing,
    title_several,
    title_length,
    title_placeholder,
    title_is_heading,
    description_missing,
    description_several,
    description_length,
    description_repeats_title,
)
