"""A trial of rules on a saved page: its content before and after, and what each selector matches."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.problems import validation_error
from gossamer.web.html.sanitise import bound_html
from gossamer.web.html.tree import select
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import Reading, read
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.sites.rule_set import RuleSet
from gossamer.web.sites.site_rule import MAX_RULES, SiteRule
from gossamer.web.url.url import TRACKING, Tracking, Url, crawl_form

MAX_TRIED_HTML: Final = 2_000_000  # characters of a saved page
MAX_SAMPLE_CHARS: Final = 120
MAX_SHOWN_CHARS: Final = 100_000  # of the content


class RuleWarning(StrEnum):
    """What is probably not meant."""

    NO_RULE = "no_rule"  # no rule is about this URL
    NO_MATCH = "no_match"  # a selector matches nothing on this page
    NOTHING_KEPT = "nothing_kept"  # so the content is searched as ever
    NO_CONTENT = "no_content"  # nothing is left


class SiteRuleTrialRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A saved page, and the rules to try on it."""

    url: Annotated[str, Meta(max_length=2_048, description="The address of the page, or its path.")]
    html: Annotated[
        Annotated[str, Meta(max_length=MAX_TRIED_HTML)] | None, Meta(description="The page, as it was saved.")
    ] = None
    crawl_id: Annotated[
        Annotated[str, Meta(max_length=26)] | None,
        Meta(description="Instead of `html`: take the page of this URL from a crawl of yours."),
    ] = None
    rules: Annotated[
        Annotated[tuple[SiteRule, ...], Meta(max_length=MAX_RULES)] | None,
        Meta(description="`null`: those that the site has."),
    ] = None

    def check(self) -> None:
        if (self.html is None) is (self.crawl_id is None):
            raise validation_error("Give the page: `html`, or the `crawlId` of a crawl that has it.")


class TriedSelector(Struct, frozen=True, kw_only=True, rename="camel"):
    """A selector, and what it matches."""

    rule: Annotated[int, Meta(description="The place of its rule, from 0.")]
    field: Literal["keep", "drop"]
    selector: str
    matches: int
    words: Annotated[int, Meta(description="Words in what it matches.")]
    sample: Annotated[str, Meta(description="The beginning of the first match.")]


class TriedContent(Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of the page."""

    title: str
    words: int
    markdown: Annotated[str, Meta(description=f"Its first {MAX_SHOWN_CHARS:,} characters.")]


class SiteRuleTrial(Struct, frozen=True, kw_only=True, rename="camel"):
    """What rules do to a page."""

    url: str
    matching: Annotated[list[int], Meta(description="The places of the rules that are about this URL.")]
    before: TriedContent
    after: TriedContent
    selectors: list[TriedSelector]
    counts_as: Annotated[str, Meta(description="The URL without the parameters that are ignored.")]
    headers: Annotated[list[str], Meta(description="The names of the headers that a crawl sends.")]
    render: Literal["never", "auto", "always"] | None
    delay: float | None
    concurrency: int | None
    warnings: list[RuleWarning]


def try_rules(page: Page, rules: Sequence[SiteRule], home: str) -> SiteRuleTrial:
    """Raises `Problem` for a page that cannot be read. `home` is the origin that an empty host means."""
    url = Url.parse(page.url)
    known = RuleSet.of(rules, (home,))
    matching, rule, pace = known.matching(url), known.at(url), known.pace(url.site)
    before = _read(page)
    kept = _read(page, keep=rule.keep, drop=rule.drop) if rule.keep else None
    found_any = kept is not None and bool(kept.text.strip())
    after = (
        kept if kept is not None and found_any else _read(page, drop=rule.drop) if rule.selects else before
    )
    selectors = _try_selectors(page, rules, matching)
    ignored = Tracking.of(known.ignored(url))
    return SiteRuleTrial(
        url=url.href,
        matching=matching,
        before=_content(before),
        after=_content(after),
        selectors=selectors,
        counts_as=crawl_form(
            url, Tracking(TRACKING.names | ignored.names, TRACKING.prefixes + ignored.prefixes)
        ),
        headers=sorted({name.lower() for at in matching for name in rules[at].headers}),
        render=rule.render,
        delay=pace.delay,
        concurrency=pace.concurrency,
        warnings=_warn(
            matching, selectors, nothing_kept=bool(rule.keep) and not found_any, words=after.words
        ),
    )


def _read(page: Page, *, keep: Sequence[str] = (), drop: Sequence[str] = ()) -> Reading:
    return read(page, ReadingOptions(include=keep, exclude=drop, html=False, links=False))


def _content(reading: Reading) -> TriedContent:
    return TriedContent(title=reading.title, words=reading.words, markdown=reading.markdown[:MAX_SHOWN_CHARS])


def _try_selectors(page: Page, rules: Sequence[SiteRule], matching: Sequence[int]) -> list[TriedSelector]:
    source = LexborHTMLParser(bound_html(page.text).html.encode("utf-8", "replace"))
    tried = []
    for at in matching:
        fields: tuple[tuple[Literal["keep", "drop"], tuple[str, ...]], ...] = (
            ("keep", rules[at].keep),
            ("drop", rules[at].drop),
        )
        for field, selectors in fields:
            for selector in selectors:
                texts = [_text(node) for node in select(source, selector)]
                tried.append(
                    TriedSelector(
                        rule=at,
                        field=field,
                        selector=selector,
                        matches=len(texts),
                        words=sum(len(text.split()) for text in texts),
                        sample=texts[0][:MAX_SAMPLE_CHARS] if texts else "",
                    )
                )
    return tried


def _text(node: LexborNode) -> str:
    return " ".join(node.text(separator=" ").split())


def _warn(
    matching: Sequence[int], selectors: Sequence[TriedSelector], *, nothing_kept: bool, words: int
) -> list[RuleWarning]:
    found = {
        RuleWarning.NO_RULE: not matching,
        RuleWarning.NO_MATCH: any(not tried.matches for tried in selectors),
        RuleWarning.NOTHING_KEPT: nothing_kept,
        RuleWarning.NO_CONTENT: not words,
    }
    return [warning for warning, is_so in found.items() if is_so]
