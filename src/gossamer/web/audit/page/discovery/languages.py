"""Languages: which one the page is in, and where the others are."""

import re
from collections import defaultdict
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.language import detect_languages
from gossamer.web.audit.page.subject import Subject, attribute

# BCP 47, as far as pages use it: language, script, region, variants.
_TAG: Final = re.compile(
    r"[a-z]{2,3}(?:-[a-z]{3}){0,3}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?(?:-(?:[a-z0-9]{5,8}|"
    r"[0-9][a-z0-9]{3}))*"
    r"(?:-[a-wyz0-9](?:-[a-z0-9]{2,8})+)*(?:-x(?:-[a-z0-9]{1,8})+)?",
    re.I,
)
# What hreflang takes: a language, perhaps a script, perhaps a country.
_HREFLANG: Final = re.compile(r"x-default|[a-z]{2,3}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?", re.I)
_NO_LANGUAGE: Final = frozenset(
    {"en-uk", "jp", "cn", "kr", "cz", "dk", "gr", "ua", "eng", "ger", "fre", "deu"}
)

check = CheckMaker[Subject](Theme.LANGUAGES, "page")


@check(
    "lang-missing",
    Severity.MODERATE,
    title="The page does not say which language it is in",
    passed="The page says which language it is in",
    why="Screen readers choose the voice by it, browsers offer translations, and models need not guess.",
    fix='Write the language into the root element, such as `<html lang="en">`.',
)
def lang_missing(subject: Subject) -> PageAnswer:
    return [] if _stated_language(subject) else ["no lang on `<html>`"]


@check(
    "lang-invalid",
    Severity.MODERATE,
    title="The stated language is no language code",
    passed="The stated language is a language code",
    why="An unknown code is as good as none.",
    fix="Use a code of BCP 47, such as `en`, `pt-BR` or `zh-Hant`.",
)
def lang_invalid(subject: Subject) -> PageAnswer:
    stated = _stated_language(subject)
    if not stated:
        return page_has_no("stated language")
    return [] if _TAG.fullmatch(stated) else [f"lang={stated}"]


@check(
    "lang-mismatch",
    Severity.MODERATE,
    title="The text is in another language than stated",
    passed="The text is in the language stated",
    why="It is read aloud with the wrong voice and shown to the wrong people.",
    fix="State the language that the text is written in.",
)
def lang_mismatch(subject: Subject) -> PageAnswer:
    stated = _stated_language(subject).lower().partition("-")[0]
    found = detect_languages(subject.reading.text)
    if not stated or not found:
        return page_has_no("text whose language is clear")
    return [] if stated in found else [f"stated: {stated}, written: {' or '.join(found[:3])}"]


@check(
    "hreflang-syntax",
    Severity.MODERATE,
    title="A language version has a code that search engines do not know",
    passed="The codes of the language versions are known",
    why="Such a version is left out, and its readers get another one.",
    fix="Use a language, perhaps with a country: `de`, `de-AT`, `x-default`. The United Kingdom is `GB`.",
)
def hreflang_syntax(subject: Subject) -> PageAnswer:
    if not subject.alternates:
        return page_has_no("language versions")
    codes = dict.fromkeys(one.code for one in subject.alternates)
    return [
        f"hreflang={code}" for code in codes if not _HREFLANG.fullmatch(code) or code.lower() in _NO_LANGUAGE
    ]


@check(
    "hreflang-relative",
    Severity.MINOR,
    title="The address of a language version is not written in full",
    passed="The addresses of the language versions are written in full",
    why="Search engines ask for full addresses here and skip others.",
    fix="Write each address with its scheme and host.",
)
def hreflang_relative(subject: Subject) -> PageAnswer:
    if not subject.alternates:
        return page_has_no("language versions")
    return [
        f"{one.code}: {one.reference or 'no address'}"
        for one in subject.alternates
        if not one.reference.lower().startswith(("http://", "https://"))
    ]


@check(
    "hreflang-self",
    Severity.MODERATE,
    title="The page is not among its own language versions",
    passed="The page is among its own language versions",
    why="Versions count only if they name each other and themselves; else the whole set is ignored.",
    fix="Add a link with this page's own language and address.",
)
def hreflang_self(subject: Subject) -> PageAnswer:
    if not subject.alternates:
        return page_has_no("language versions")
    own = {_plain(subject.url), _plain(subject.canonical)}
    named = any(_plain(one.url) in own for one in subject.alternates if one.url)
    return [] if named else [f"{subject.url} is not in the list"]


@check(
    "hreflang-default",
    Severity.MINOR,
    title="There is no version for readers of other languages",
    passed="There is a version for readers of other languages",
    why="Readers of other languages than those listed get a version by chance.",
    fix='Add a link with `hreflang="x-default"`.',
)
def hreflang_default(subject: Subject) -> PageAnswer:
    if not subject.alternates:
        return page_has_no("language versions")
    return [] if any(one.code.lower() == "x-default" for one in subject.alternates) else ["no x-default"]


@check(
    "hreflang-twice",
    Severity.MODERATE,
    title="A language has two versions",
    passed="Every language has one version",
    why="It is left to chance which of them is shown.",
    fix="Name one address for each code.",
)
def hreflang_twice(subject: Subject) -> PageAnswer:
    if not subject.alternates:
        return page_has_no("language versions")
    urls: dict[str, set[str]] = defaultdict(set)
    for one in subject.alternates:
        urls[one.code.lower()].add(one.url or one.reference)
    return [f"{code}: {', '.join(sorted(named))}" for code, named in urls.items() if len(named) > 1]


def _stated_language(subject: Subject) -> str:
    root = subject.tree.css_first("html")
    if root is None:
        return ""
    return (attribute(root, "lang") or attribute(root, "xml:lang")).strip()


def _plain(url: str) -> str:
    return url.partition("#")[0].rstrip("/")


CHECKS: Final = (
    lang_missing,
    lang_invalid,
    lang_mismatch,
    hreflang_syntax,
    hreflang_relative,
    hreflang_self,
    hreflang_default,
    hreflang_twice,
)
