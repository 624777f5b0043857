"""Links: where the page leads, and what it calls that."""

import re
from typing import Final
from urllib.parse import unquote

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Anchor, Subject, attribute, find_broken, split

MANY: Final = 300
_VAGUE: Final = re.compile(
    r"(?:click )?here|click(?: me)?|(?:read|learn|see|find out|show) more|more|more info(?:rmation)?|"
    r"details|link|"
    r"this(?: (?:page|link|article))?|continue(?: reading)?|go|hier(?: klicken)?|mehr(?: erfahren|"
    r" lesen)?|weiter(?:lesen)?|"
    r"ici|cliquez ici|en savoir plus|lire la suite|aquí|leer más|ver más|saber más|qui|clicca qui|"
    r"leggi tutto",
    re.I,
)

check = CheckMaker[Subject](Theme.LINKS, "page")


@check(
    "links-broken",
    Severity.SERIOUS,
    title="Links to pages of the site are broken",
    passed="No checked link within the site is broken",
    why="Readers and robots end at an error, and do not find the pages behind it.",
    fix="Correct the addresses, redirect those that have moved, or remove the links.",
)
def links_broken(subject: Subject) -> PageAnswer:
    return find_broken(subject, lambda one: one.kind == "page" and one.internal, "checked links of this kind")


@check(
    "links-broken-outside",
    Severity.MODERATE,
    title="Links to other sites are broken",
    passed="No checked link to another site is broken",
    why="Dead references make a page look abandoned.",
    fix="Link to the current address, or to an archived copy.",
)
def links_broken_outside(subject: Subject) -> PageAnswer:
    return find_broken(
        subject, lambda one: one.kind == "page" and not one.internal, "checked links of this kind"
    )


@check(
    "links-empty",
    Severity.MODERATE,
    title="Links have no text",
    passed="Every link has a text",
    why="Screen readers can only read out the address, and machines do not learn what is behind it.",
    fix="Put text into the link, an `alt` on its image, or an `aria-label` on it.",
)
def links_empty(subject: Subject) -> PageAnswer:
    if not subject.anchors:
        return page_has_no("links")
    return [one.reference or "a link to nowhere" for one in subject.anchors if not one.name]


@check(
    "links-vague",
    Severity.MINOR,
    title="Links do not say where they lead",
    passed="Links say where they lead",
    why="“Here” and “more” tell neither people nor machines what the target is about.",
    fix="Let the text of the link name its target.",
)
def links_vague(subject: Subject) -> PageAnswer:
    if not subject.anchors:
        return page_has_no("links")
    return [
        f"“{one.name}” → {one.reference}"
        for one in subject.anchors
        if _VAGUE.fullmatch(one.name.strip(" .…\u203a»→>")) and one.url
    ]


@check(
    "links-nofollow-inside",
    Severity.MODERATE,
    title="Links within the site are marked nofollow",
    passed="No link within the site is marked nofollow",
    why="It tells search engines that the site does not trust its own pages.",
    fix="Remove `nofollow` from links to own pages.",
)
def links_nofollow_inside(subject: Subject) -> PageAnswer:
    if not subject.anchors:
        return page_has_no("links")
    return [
        one.reference
        for one in subject.anchors
        if "nofollow" in one.rel and one.url.startswith("http") and subject.is_internal(one.url)
    ]


@check(
    "links-many",
    Severity.MINOR,
    title="The page has very many links",
    passed="The page has a reasonable number of links",
    why="Each link counts for less, and the ones that matter are hard to find.",
    fix=f"Divide a page of more than {MANY} links into several.",
)
def links_many(subject: Subject) -> PageAnswer:
    different = {one.url.partition("#")[0] for one in subject.anchors if one.url.startswith("http")}
    return [f"links to {len(different):,} pages"] if len(different) > MANY else []


@check(
    "links-none",
    Severity.MODERATE,
    title="The page links to no other page of the site",
    passed="The page links to other pages of the site",
    why="Readers and robots can only go back from here.",
    fix="Link to pages on the same subject, and to the start page.",
)
def links_none(subject: Subject) -> PageAnswer:
    here = subject.url.partition("#")[0]
    inside = (
        one.url
        for one in subject.anchors
        if one.url.startswith("http") and subject.is_internal(one.url) and one.url.partition("#")[0] != here
    )
    return [] if any(inside) else ["no link to another page of the site"]


@check(
    "links-insecure",
    Severity.MINOR,
    title="Links within the site lead to http",
    passed="Links within the site keep https",
    why="Every such visit begins unencrypted and costs a redirect.",
    fix="Write https, or leave out scheme and host.",
)
def links_insecure(subject: Subject) -> PageAnswer:
    if subject.parts.scheme != "https":
        return page_has_no("https address")
    return [
        one.reference
        for one in subject.anchors
        if one.url.startswith("http:") and subject.is_internal(one.url)
    ]


@check(
    "links-script",
    Severity.MODERATE,
    title="Links work by script only",
    passed="No link needs a script",
    why="Robots follow addresses, not scripts, and a new tab opens nothing.",
    fix="Give the link the address it leads to, and use a `<button>` for actions.",
)
def links_script(subject: Subject) -> PageAnswer:
    if not subject.anchors:
        return page_has_no("links")
    return [
        f"{one.reference[:60]} “{one.name}”"
        for one in subject.anchors
        if re.match(r"[\s\x00-\x1f]*javascript:", one.reference, re.I)
    ]


@check(
    "links-fragments",
    Severity.MINOR,
    title="Links lead to parts of the page that are not there",
    passed="Links within the page lead somewhere",
    why="The reader clicks and nothing happens.",
    fix="Give the target the `id` that the link names.",
)
def links_fragments(subject: Subject) -> PageAnswer:
    within = [one for one in subject.anchors if one.reference.startswith("#") and _fragment(one)]
    if not within:
        return page_has_no("links within itself")
    names = {attribute(node, key) for key in ("id", "name") for node in subject.tree.css(f"[{key}]")}
    return list(
        dict.fromkeys(
            one.reference for one in within if not {_fragment(one), unquote(_fragment(one))} & names
        )
    )


def _fragment(anchor: Anchor) -> str:
    name = anchor.reference[1:]
    special = name.lower() in ("", "top") or name.startswith((":~:", "!", "/"))
    return "" if special or split(anchor.reference).scheme else name


CHECKS: Final = (
    links_broken,
    links_broken_outside,
    links_empty,
    links_vague,
    links_nofollow_inside,
    links_many,
    links_none,
    links_insecure,
    links_script,
    links_fragments,
)
