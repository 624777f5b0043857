"""Structured data: facts for machines, which count only if they are complete.

What is required is what search engines require for showing a thing in a special way; for articles, which
have no hard requirements there, it is what tells an article apart from any other page.
"""

from collections.abc import Iterator
from typing import Any, Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.structured_data import Thing
from gossamer.web.audit.page.subject import Subject
from gossamer.web.html.dates import iso_date

_ARTICLE: Final = ("headline", "author", "datePublished")
_BUSINESS: Final = ("name", "address")
# Alternatives are divided by a bar.
REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "Article": _ARTICLE,
    "NewsArticle": _ARTICLE,
    "BlogPosting": _ARTICLE,
    "TechArticle": _ARTICLE,
    "Product": ("name", "offers|review|aggregateRating"),
    "Offer": ("price|priceSpecification", "priceCurrency|priceSpecification"),
    "AggregateOffer": ("lowPrice", "priceCurrency"),
    "AggregateRating": ("ratingValue", "ratingCount|reviewCount"),
    "Review": ("reviewRating|reviewBody", "author"),
    "BreadcrumbList": ("itemListElement",),
    "FAQPage": ("mainEntity",),
    "Question": ("name|text", "acceptedAnswer|suggestedAnswer"),
    "Answer": ("text",),
    "Organization": ("name",),
    "Corporation": ("name",),
    "LocalBusiness": _BUSINESS,
    "Restaurant": _BUSINESS,
    "Store": _BUSINESS,
    "Event": ("name", "startDate", "location"),
    "Recipe": ("name", "image"),
    "HowTo": ("name", "step"),
    "VideoObject": ("name", "thumbnailUrl", "uploadDate"),
    "JobPosting": (
        "title",
        "description",
        "datePosted",
        "hiringOrganization",
        "jobLocation|jobLocationType",
    ),
    "WebSite": ("name", "url"),
    "Person": ("name",),
    "SoftwareApplication": ("name", "offers|aggregateRating|review"),
    "Course": ("name", "description"),
    "Dataset": ("name", "description"),
}
_DATES: Final = frozenset(
    {"datePublished", "dateModified", "dateCreated", "uploadDate", "datePosted", "validThrough", "startDate"}
    | {"endDate", "priceValidUntil"}
)

check = CheckMaker[Subject](Theme.STRUCTURED, "page")


@check(
    "structured-missing",
    Severity.MINOR,
    title="The page has no structured data",
    passed="The page has structured data",
    why="Without it, machines have to guess the author, date, price or place.",
    fix="Describe the page in a JSON-LD script with the schema.org type that fits, such as `Article` or "
    "`Product`.",
)
def structured_missing(subject: Subject) -> PageAnswer:
    return [] if subject.structured.exists else ["neither JSON-LD nor microdata"]


@check(
    "json-ld-broken",
    Severity.SERIOUS,
    title="JSON-LD cannot be parsed",
    passed="JSON-LD can be parsed",
    why="One comma too many, and search engines ignore the whole script.",
    fix="Let a program write it, or run it through a JSON validator.",
)
def json_ld_broken(subject: Subject) -> PageAnswer:
    if not subject.structured.exists:
        return page_has_no("structured data")
    return list(subject.structured.json_errors)


@check(
    "json-ld-untyped",
    Severity.MODERATE,
    title="JSON-LD does not say what it describes",
    passed="JSON-LD says what it describes",
    why="Without `@context` and `@type` the rest means nothing.",
    fix='Begin with `"@context": "https://schema.org"` and an `"@type"`.',
)
def json_ld_untyped(subject: Subject) -> PageAnswer:
    if not subject.structured.exists:
        return page_has_no("structured data")
    return list(subject.structured.untyped)


@check(
    "microdata-broken",
    Severity.MODERATE,
    title="Microdata is put together wrongly",
    passed="Microdata is put together rightly",
    why="A property that belongs to nothing is lost.",
    fix="Put every `itemprop` inside an `itemscope`, with a full address as its `itemtype`.",
)
def microdata_broken(subject: Subject) -> PageAnswer:
    if not subject.structured.exists:
        return page_has_no("structured data")
    return list(dict.fromkeys(subject.structured.microdata_errors))


@check(
    "structured-incomplete",
    Severity.MODERATE,
    title="Structured data lacks required properties",
    passed="Structured data has the properties it needs",
    why="Search engines do not show an incomplete description as a rich result.",
    fix="Add the properties named below.",
)
def structured_incomplete(subject: Subject) -> PageAnswer:
    if not subject.structured.things:
        return page_has_no("structured data")
    return list(dict.fromkeys(lack for thing in subject.structured.things for lack in _lacking(thing)))


@check(
    "structured-breadcrumbs",
    Severity.MINOR,
    title="The breadcrumbs are not in order",
    passed="The breadcrumbs are in order",
    why="The path above a search result is made of them, by position.",
    fix="Number them from 1, each with a name, and all but the last with an address.",
)
def structured_breadcrumbs(subject: Subject) -> PageAnswer:
    lists = [one for one in subject.structured.of_kind("BreadcrumbList") if one.form == "JSON-LD"]
    if not lists:
        return page_has_no("breadcrumbs")
    return [problem for one in lists for problem in _find_misplaced(one)]


@check(
    "structured-dates",
    Severity.MINOR,
    title="Dates in structured data are not ISO 8601",
    passed="Dates in structured data are ISO 8601",
    why="“03/04/24” is in March for some and in April for others, and for machines nothing at all.",
    fix="Write `2024-04-03`, or `2024-04-03T09:30:00+02:00` with a time.",
)
def structured_dates(subject: Subject) -> PageAnswer:
    stated = [
        (name, value)
        for thing in subject.structured.things
        for name, value in thing.properties.items()
        if name in _DATES and isinstance(value, str)
    ]
    if not stated:
        return page_has_no("dates in structured data")
    return [f"{name}: {value}" for name, value in stated if not _is_iso(value)]


def _lacking(thing: Thing) -> Iterator[str]:
    for kind in thing.kinds:
        for names in REQUIRED.get(kind, ()):
            if not any(thing.has(name) for name in names.split("|")):
                yield f"{kind} ({thing.form}): {names.replace('|', ' or ')}"


def _find_misplaced(breadcrumbs: Thing) -> Iterator[str]:
    elements = breadcrumbs.properties.get("itemListElement")
    items = elements if isinstance(elements, list) else [elements]
    for place, item in enumerate(items[:100], start=1):
        if not isinstance(item, dict):
            yield f"number {place} is no item"
        elif str(item.get("position")) != str(place):
            yield f"number {place} has position {str(item.get('position'))[:20]}"
        elif not (item.get("name") or _inner(item.get("item"), "name")):
            yield f"number {place} has no name"


def _inner(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _is_iso(text: str) -> bool:
    return text[:4].isdigit() and text[4:5] == "-" and iso_date(text) is not None


CHECKS: Final = (
    structured_missing,
    json_ld_broken,
    json_ld_untyped,
    microdata_broken,
    structured_incomplete,
    structured_breadcrumbs,
    structured_dates,
)
