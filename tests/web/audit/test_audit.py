"""The audit as a whole: every check asked, a score that can be trusted, and no page that breaks it."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.web.audit import test_checks_found, test_checks_page, test_checks_served
from tests.web.audit.audit_subjects import GOOD, NOW, page, subject
from tests.web.audit.audit_subjects import answer as answer_of

from gossamer.web.audit.audit import MAX_EVIDENCE, MAX_EVIDENCE_CHARS, audit_page
from gossamer.web.audit.check import Check, PageAnswer, Severity, Theme, Unanswered, not_fetched, page_has_no
from gossamer.web.audit.checks import PAGE_CHECKS
from gossamer.web.audit.page.subject import Subject
from gossamer.web.audit.report import AuditReport, ThemeScore
from gossamer.web.audit.score import PARTS, THEMES, CheckResult
from gossamer.web.audit.score import score as score_of
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import read
from gossamer.web.pages.reading_options import ReadingOptions

FAULTS = [*test_checks_found.FAULTS, *test_checks_page.FAULTS, *test_checks_served.FAULTS]
DOCUMENT = (Path(__file__).parents[3] / "docs" / "audits.md").read_text()


def test_nothing_is_wrong_with_the_good_page() -> None:
    report = audit_page(subject())
    assert [finding.id for finding in report.findings] == []
    assert (report.score, report.worst) == (100, None)
    assert len(report.passed) + len(report.not_checked) == len(PAGE_CHECKS)


def test_every_check_has_a_fault_that_it_finds() -> None:
    assert {identity for identity, _ in FAULTS} == {check.id for check in PAGE_CHECKS}


def test_there_are_enough_checks_and_each_has_a_name_of_its_own() -> None:
    assert len(PAGE_CHECKS) >= 55
    assert len({check.id for check in PAGE_CHECKS}) == len(PAGE_CHECKS)
    assert {check.theme for check in PAGE_CHECKS} == set(Theme) == set(THEMES)


@pytest.mark.parametrize(("identity", "spoil"), FAULTS)
def test_a_fault_costs_points_unless_it_only_informs(identity: str, spoil: Any) -> None:
    report = audit_page(spoil())
    finding = next(one for one in report.findings if one.id == identity)
    assert 0 < len(finding.evidence) <= MAX_EVIDENCE
    assert all(0 < len(piece) <= MAX_EVIDENCE_CHARS + 1 for piece in finding.evidence)
    theme = next(one for one in report.themes if one.theme is finding.theme)
    assert (report.score < 100) == any(one.severity is not Severity.INFO for one in report.findings)
    assert theme.score is not None
    assert report.score <= theme.score <= round(100 * (1 - PARTS[finding.severity]))


def test_the_worst_comes_first() -> None:
    report = audit_page(subject("<p>Hello</p>", status=500))
    severities = [list(Severity).index(finding.severity) for finding in report.findings]
    assert severities == sorted(severities)
    assert report.worst is Severity.CRITICAL
    assert report.score <= 49


def test_what_was_not_fetched_is_not_checked_and_costs_nothing() -> None:
    facts = dict.fromkeys(("robots", "sitemap", "llms", "links", "http_redirects_to_https"))
    report = audit_page(subject(of=facts))
    assert report.score == 100
    reasons = {one.id: one.reason for one in report.not_checked}
    assert reasons["robots-blocked"] == "robots.txt was not fetched"
    assert reasons["links-broken"] == "What the page links to was not fetched"
    assert {"sitemap-missing", "llms-txt-missing", "https-not-enforced"} <= set(reasons)
    assert report.agent is not None
    assert {bot.allowed for bot in report.agent.bots} == {None}


def test_what_is_not_html_is_asked_what_applies_to_it() -> None:
    report = audit_page(subject('{"name": "silk", "price": 9}', media_type="application/json"))
    themes = {one.theme: one.score for one in report.themes}
    assert themes[Theme.IMAGES] is themes[Theme.TITLES] is None
    assert themes[Theme.STATUS] == 100
    assert report.score == 100
    assert report.page is not None
    assert report.page.elements <= 3


def test_a_report_survives_being_stored() -> None:
    report = audit_page(subject(GOOD.replace("<title>", "<title>More ")))
    assert msgspec.json.decode(msgspec.json.encode(report), type=AuditReport) == report
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(report), type=AuditReport) == report


def test_a_subject_survives_being_sent() -> None:
    given_subject = subject()
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(given_subject), type=Subject)
    assert audit_page(sent) == audit_page(given_subject)


def test_the_secrets_of_cookies_are_left_out() -> None:
    report = audit_page(subject(headers={"set-cookie": "session=s3cret; Path=/"}))
    assert report.page is not None
    assert ("set-cookie", "session=…; Path=/") in report.page.headers
    assert b"s3cret" not in msgspec.json.encode(report)


def test_what_an_agent_sees_is_told() -> None:
    report = audit_page(subject())
    assert report.agent is not None
    assert report.preview is not None
    assert report.agent.markdown.startswith("# How orb weavers mend their webs")
    assert 400 < report.agent.tokens < report.agent.html_tokens
    assert (report.preview.author, report.preview.published_at) == ("Ada Weber", "2026-03-01")
    assert report.preview.card_title == "How orb weavers mend their webs"


def test_a_check_that_fails_does_not_take_the_others_with_it() -> None:
    def broken(_: Subject) -> PageAnswer:
        raise ZeroDivisionError

    faulty = replace(PAGE_CHECKS[0], id="faulty", ask=broken)
    report = audit_page(subject(), [*PAGE_CHECKS, faulty])
    assert report.not_checked[-1].reason == "The check failed (ZeroDivisionError)"
    assert report.score == 100


# The score.


def score(answers: Iterable[tuple[Check[Subject], PageAnswer]]) -> tuple[int, tuple[ThemeScore, ...]]:
    return score_of(CheckResult.of(check, answer) for check, answer in answers)


answers: st.SearchStrategy[PageAnswer] = st.sampled_from(
    [[], ["found"], page_has_no("thing"), not_fetched("It")]
)
better_answers: st.SearchStrategy[PageAnswer] = st.sampled_from([[], page_has_no("thing")])


@given(st.data())
def test_fixing_a_finding_never_lowers_the_score(data: st.DataObject) -> None:
    given_answers: list[tuple[Check[Subject], PageAnswer]] = [
        (check, data.draw(answers)) for check in PAGE_CHECKS
    ]
    before, themes = score(given_answers)
    found = [at for at, (_, answer) in enumerate(given_answers) if answer == ["found"]]
    if not found:
        assert before in (0, 100)
        return
    fixed = data.draw(st.sampled_from(found))
    better = data.draw(better_answers)
    after, better_themes = score(
        [(check, better if at == fixed else answer) for at, (check, answer) in enumerate(given_answers)]
    )
    assert after >= before
    assert all((one.score or 0) <= (two.score or 0) for one, two in zip(themes, better_themes, strict=True))


@given(st.data())
def test_the_score_is_100_only_when_nothing_costs_anything(data: st.DataObject) -> None:
    given_answers = [(check, data.draw(answers)) for check in PAGE_CHECKS]
    points, themes = score(given_answers)
    costly = any(
        isinstance(answer, list) and answer and check.severity is not Severity.INFO
        for check, answer in given_answers
    )
    assert 0 <= points <= 100
    assert (points == 100) <= (not costly)
    assert all(one.score is None or 0 <= one.score <= 100 for one in themes)


def test_every_finding_takes_its_part_of_what_is_left() -> None:
    found = {"title-missing": 0.21, "doctype-missing": 0.01, "image-alt": 0.05}
    points, themes = score((check, ["found"] if check.id in found else []) for check in PAGE_CHECKS)
    assert {one.theme: one.score for one in themes if one.score != 100} == {
        Theme.TITLES: 79,
        Theme.DOCUMENT: 99,
        Theme.IMAGES: 95,
    }
    assert points == int(100 * 0.79 * 0.99 * 0.95) == 74


def test_themes_of_which_nothing_is_known_do_not_count() -> None:
    known: list[tuple[Check[Subject], PageAnswer]] = [
        (check, [] if check.theme is Theme.STATUS else not_fetched("It")) for check in PAGE_CHECKS
    ]
    assert score(known)[0] == 100
    assert score([(check, not_fetched("It")) for check in PAGE_CHECKS])[0] == 0
    assert score([])[0] == 0


# Any page at all.

PIECES = st.sampled_from(
    [
        "<title>", "</title>", "<a href=#>", "<h3>x</h3>", "<a href='", "'>", "<a href='http://['>x</a>",
        "<img src=data:, width=9e9>", "<img width=-1 alt>", "<link rel=canonical>", "<th>",
        "<link rel=alternate hreflang=xx href='//['>", "<base href='http://[x'>", "<svg><title>", "<h1>",
        "<meta name=robots content='", "<meta http-equiv=refresh content=';url'>", "<main>", "<iframe>",
        "<meta property=og:url content='http://a b'>", "<script type=application/ld+json>", "</script>",
        '{"@type": ["Product", 1], "@context": 1, "offers": [null]}', "[[[[", "<pre>", "<html lang='-'>",
        '{"@context":0,"@type":"BreadcrumbList","itemListElement":[1,null,{"position":[]}]}', "<body>",
        "<p itemprop=a itemscope itemref=a id=a>", "<p itemscope itemtype='x y'>", "<form action='http:'>",
        "\x00", "\ud800", "é", "<!--", "<!doctype html>", "&#0;", "lorem ipsum", "<frameset>", "<template>",
        "word " * 100, "<link rel=canonical href='", "\u202e", "'", '"', "<", ">",
    ]
)  # fmt: skip
header_values = st.text(
    st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=60
) | st.sampled_from(
    ["noindex", "googlebot: none", "<x>; rel=canonical", "max-age=", "a; b; c=", ";", ",", "unsafe-inline;;"]
)
names = st.sampled_from(
    ["link", "x-robots-tag", "set-cookie", "content-security-policy", "strict-transport-security", "server"]
) | st.sampled_from(
    ["referrer-policy", "cache-control", "content-type", "content-encoding", "x-frame-options"]
)


@settings(max_examples=300)
@given(
    st.lists(PIECES | st.text(max_size=10), max_size=30).map("".join),
    st.lists(st.tuples(names, header_values), max_size=8),
    st.sampled_from(["https://a.example/", "http://a.example/%zz?&&=&x=%", "https://[::1]:8080/A_b;c//"]),
    st.integers(100, 999),
)
def test_no_page_makes_a_check_fail(html: str, headers: list[tuple[str, str]], url: str, status: int) -> None:
    body = html.encode("utf-8", "surrogatepass")
    asked = page(body=body, final_url=url, status=status)
    asked = replace(asked, headers=tuple(headers))
    given_subject = replace(subject(), page=asked, reading=read(asked, ReadingOptions()))
    for check in PAGE_CHECKS:
        answer = answer_of(check.id, given_subject)
        assert isinstance(answer, Unanswered) or all(isinstance(piece, str) for piece in answer)
    report = audit_page(given_subject)
    assert not [one for one in report.not_checked if "failed" in one.reason]
    assert msgspec.json.encode(report)


HOSTILE = {
    "deep": "<div>" * 200_000,
    "links": "<a href='/x'>a</a>" * 50_000,
    "nested links": "<a href=/x><b>" * 20_000,
    "nested headings": "<h2><div>" * 20_000,
    "images": "<img src=x>" * 50_000,
    "items": "<div itemscope itemprop=a>" * 5_000,
    "ids": "".join(f"<p id=i{n}><a href=#j{n}>x</a>" for n in range(20_000)),
    "json": f"<script type=application/ld+json>{'[' * 50_000}</script>",
    "metas": "<meta name=robots content='a,b,c'>" * 20_000,
    "canonicals": "<link rel=canonical href=/x>" * 20_000,
    "attributes": f"<p {'a=b ' * 200_000}>",
    "text": "<main><p>" + "word " * 400_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_takes_bounded_time(name: str) -> None:
    asked = Page(
        url="https://a.example/",
        final_url="https://a.example/",
        status=200,
        headers=(("link", "<" * 60_000), ("x-robots-tag", ":," * 30_000), ("set-cookie", ";" * 60_000)),
        body=HOSTILE[name].encode(),
        media_type="text/html",
        charset="utf-8",
    )
    given_subject = Subject(page=asked, reading=read(asked, ReadingOptions()), now=NOW)
    started = time.process_time()
    report = audit_page(given_subject)
    assert time.process_time() - started < 4
    assert len(msgspec.json.encode(report)) < 400_000


# The document.


def documented(check: Check[Subject]) -> str:
    said = f"{check.title}. **{check.severity.capitalize()}.** {check.why}"
    return f"#### `{check.id}`\n\n{said}\n\n*Fix:* {check.fix}\n"


@pytest.mark.parametrize("check", PAGE_CHECKS, ids=lambda check: check.id)
def test_the_document_tells_every_check(check: Check[Subject]) -> None:
    assert documented(check) in DOCUMENT


def test_the_document_tells_the_formula() -> None:
    for severity, part in PARTS.items():
        assert f"| {severity} | {part:.0%} |" in DOCUMENT
    assert all(f"### {name}\n" in DOCUMENT for name in THEMES.values())
    assert DOCUMENT.partition("## The checks of a site")[0].count("\n#### ") == len(PAGE_CHECKS)
