"""The audit of a site: a score that can be trusted, what is told of every page, and two runs compared."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.web.audit.audit_subjects import GOOD, URL, subject
from tests.web.audit.site_pages import HOME, NAMES, at, gone, good, page, site
from tests.web.audit.test_audit import FAULTS as PAGE_FAULTS
from tests.web.audit.test_site_checks import FAULTS

from gossamer.web.audit.audit import MAX_PLACE_URLS, MAX_PLACES, PageFindings, audit_page, audit_site
from gossamer.web.audit.check import Check, Hit, Severity, SiteAnswer, Theme, Unanswered
from gossamer.web.audit.checks import EACH_PAGE_CHECKS, PAGE_CHECKS, REPLACED, SITE_CHECKS
from gossamer.web.audit.comparison import compare
from gossamer.web.audit.report import AuditReport, SiteFacts, ThemeScore
from gossamer.web.audit.score import THEMES, CheckResult, score
from gossamer.web.audit.site.site import Site

DOCUMENT = (Path(__file__).parents[3] / "docs" / "audits.md").read_text()
URLS = [at(name) for name in ("", *NAMES)]


def page_findings(**spoilt: str) -> PageFindings:
    """Every page of the good site is the good page, unless it is spoilt."""
    findings = PageFindings()
    for url in URLS:
        html = spoilt.get(url.removeprefix(HOME) or "home", GOOD).replace(URL, url)
        findings.add(url, audit_page(subject(html, final_url=url)))
    return findings


def report(asked: Site, findings: PageFindings | None = None) -> AuditReport:
    return audit_site(asked, findings or PageFindings(), now=1_777_000_000.0, crawl_id="c")


def site_facts(found: AuditReport) -> SiteFacts:
    assert found.site is not None
    return found.site


def test_every_check_has_a_name_of_its_own() -> None:
    identities = [check.id for check in QUESTIONS]
    assert len(set(identities)) == len(identities) >= 60
    assert {check.theme for check in SITE_CHECKS} <= set(THEMES)


def test_what_may_be_right_for_one_of_many_is_not_asked_of_each() -> None:
    assert {check.id for check in PAGE_CHECKS} - {check.id for check in EACH_PAGE_CHECKS} == REPLACED
    hidden = GOOD.replace("<head>", '<head><meta name="robots" content="noindex">')
    found = report(good(), page_findings(orb=hidden))
    assert "noindex" not in {finding.id for finding in found.findings}


def test_nothing_is_wrong_with_the_good_site() -> None:
    found = report(good())
    assert (found.score, found.worst, found.findings) == (100, None, ())
    assert (site_facts(found).pages, site_facts(found).indexable, site_facts(found).addresses) == (5, 5, 5)
    assert site_facts(found).statuses == (("2xx", 5),)
    assert {line.clicks for line in found.pages} == {0, 1}
    assert len(found.passed) + len(found.not_checked) == len(EACH_PAGE_CHECKS) + len(SITE_CHECKS)


@pytest.mark.parametrize(("identity", "spoil", "where"), FAULTS)
def test_a_fault_costs_points_and_stands_at_its_pages(identity: str, spoil: Any, where: set[str]) -> None:
    found = report(spoil())
    finding = next(one for one in found.findings if one.id == identity)
    assert (finding.scope, finding.pages) == ("site", len(where))
    assert {line.url for line in found.pages if identity in line.findings} == {at(path) for path in where}
    assert (identity in found.whole) == (not where)
    assert len(finding.places) <= MAX_PLACES
    assert all(len(place.urls) <= MAX_PLACE_URLS for place in finding.places)
    assert (found.score < 100) == any(one.severity is not Severity.INFO for one in found.findings)
    assert msgspec.json.decode(msgspec.json.encode(found), type=AuditReport) == found


def test_findings_of_single_pages_are_put_together() -> None:
    spoilt = GOOD.replace("<h1>", "<h2>").replace("</h1>", "</h2>")
    found = report(good(), page_findings(orb=spoilt, sheet=spoilt))
    finding = next(one for one in found.findings if one.id == "h1-missing")
    assert (finding.scope, finding.pages, len(finding.places)) == ("page", 2, 1)
    assert finding.places[0].urls == (at("orb"), at("sheet"))
    scores = {line.url: line.score for line in found.pages}
    assert scores[at("orb")] == scores[at("sheet")]
    assert (scores[at("orb")] or 0) < (scores[at("funnel")] or 0)
    assert site_facts(found).checked == 5


def test_the_more_pages_have_a_fault_the_more_it_costs() -> None:
    spoilt = GOOD.replace("<title>How orb weavers mend their webs | Field Notes</title>", "")
    scores = [
        report(good(), page_findings(**dict.fromkeys(list(NAMES)[:count], spoilt))).score
        for count in range(5)
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 5


def test_the_worst_comes_first_and_the_widest_spread_of_them() -> None:
    found = report(site(gone("gone"), gone("broken", 500)))
    severities = [list(Severity).index(finding.severity) for finding in found.findings]
    assert severities == sorted(severities)
    assert found.findings[0].id == "site-links-broken"
    assert found.worst is Severity.SERIOUS
    assert dict(site_facts(found).statuses) == {"2xx": 5, "4xx": 1, "5xx": 1}


def test_pages_that_were_not_crawled_are_told_where_they_have_faults() -> None:
    asked = replace(good(), pages=good().pages[:1])
    hits = CheckResult(SITE_CHECKS[0], (Hit("x", (at("elsewhere"),)),))
    check = replace(SITE_CHECKS[0], ask=lambda _: list(hits.hits))
    found = audit_site(asked, PageFindings(), now=0.0, page_checks=(), site_checks=[check])
    assert [(line.url, line.findings) for line in found.pages] == [
        (HOME, ()),
        (at("elsewhere"), (check.id,)),
    ]


def test_a_check_that_fails_does_not_take_the_others_with_it() -> None:
    def broken(_: Site) -> SiteAnswer:
        raise ZeroDivisionError

    faulty = replace(SITE_CHECKS[0], id="faulty", ask=broken)
    found = audit_site(good(), PageFindings(), now=0.0, page_checks=(), site_checks=[*SITE_CHECKS, faulty])
    assert found.not_checked[-1].reason == "The check failed (ZeroDivisionError)"
    assert found.score == 100


# The score.


def site_score(asked: list[CheckResult], pages: int) -> tuple[int, tuple[ThemeScore, ...]]:
    return score(asked, pages)


def planted(defects: int, pages: int) -> AuditReport:
    """A site of good pages, each of the first with a defect of its own."""
    findings, known = PageFindings(), []
    for number in range(pages):
        spoil = PAGE_FAULTS[number * 7 % len(PAGE_FAULTS)][1] if number < defects else subject
        spoilt = spoil()
        url = f"{spoilt.page.final_url}/{number}"
        findings.add(url, audit_page(replace(spoilt, page=replace(spoilt.page, final_url=url))))
        known.append(page(f"{number}", "", final_url=url, url=url))
    return report(site(*known), findings)


def test_a_site_with_many_planted_defects_is_told_from_a_clean_one() -> None:
    clean, some, many = (planted(defects, 47).score for defects in (0, 10, 38))
    assert clean >= 95
    assert clean - some >= 10
    assert some - many >= 15


def test_a_defect_on_one_page_in_a_hundred_costs_a_tenth() -> None:
    serious = next(check for check in SITE_CHECKS if check.severity is Severity.SERIOUS)
    shares = {
        count: CheckResult(serious, (Hit("x", tuple(map(str, range(count)))),)) for count in (1, 25, 100)
    }
    assert [site_score([one], 100)[0] for one in shares.values()] == [97, 89, 79]


QUESTIONS: list[Any] = [*PAGE_CHECKS, *SITE_CHECKS]
urls = st.lists(st.sampled_from(URLS), min_size=1, max_size=5, unique=True).map(tuple)
hits = st.builds(Hit, st.just("found"), urls) | st.just(Hit("found"))
answers = st.lists(hits, max_size=2).map(tuple)
unanswered = st.sampled_from([Unanswered("x", harmless=True), Unanswered("x", harmless=False)])


@st.composite
def verdicts(draw: st.DrawFn) -> list[CheckResult]:
    asked = draw(st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=30, unique_by=lambda one: one.id))
    return [
        CheckResult(check, draw(answers)) if draw(st.booleans()) else CheckResult(check, (), draw(unanswered))
        for check in asked
    ]


@settings(max_examples=200)
@given(st.data())
def test_fixing_a_place_never_lowers_the_score(data: st.DataObject) -> None:
    before = data.draw(verdicts())
    found = [at for at, verdict in enumerate(before) if verdict.hits]
    points, themes = site_score(before, len(URLS))
    assert 0 <= points <= 100
    if not found:
        return
    fixed = data.draw(st.sampled_from(found))
    after = list(before)
    after[fixed] = replace(before[fixed], hits=before[fixed].hits[1:])
    better, better_themes = site_score(after, len(URLS))
    assert better >= points
    assert all((one.score or 0) <= (two.score or 0) for one, two in zip(themes, better_themes, strict=True))


@settings(max_examples=200)
@given(verdicts())
def test_100_means_that_nothing_costs_anything(given_verdicts: list[CheckResult]) -> None:
    points, _ = site_score(given_verdicts, 1_000)
    costly = any(one.hits and one.check.severity is not Severity.INFO for one in given_verdicts)
    assert (points == 100) <= (not costly)


def test_a_fault_of_all_pages_costs_what_it_costs_a_page() -> None:
    serious = next(check for check in SITE_CHECKS if check.severity is Severity.SERIOUS)
    others = [CheckResult(check, ()) for check in SITE_CHECKS if check is not serious]
    points, themes = site_score([*others, CheckResult(serious, (Hit("all", tuple(URLS)),))], len(URLS))
    assert points == 79
    assert next(one for one in themes if one.theme is serious.theme).score == 79


def test_themes_of_which_nothing_is_known_do_not_count() -> None:
    unknown = Unanswered("x", harmless=False)
    asked = [CheckResult(check, (), unknown) for check in SITE_CHECKS if check.theme is not Theme.LINKS]
    asked += [CheckResult(check, ()) for check in SITE_CHECKS if check.theme is Theme.LINKS]
    assert site_score(asked, 5)[0] == 100
    assert site_score([], 0) == (0, ())


# Two runs.


def test_a_site_that_nobody_could_read_is_not_praised() -> None:
    told = report(replace(good(), pages=(gone("", None, blocked=True),)))
    assert (told.score <= 49, told.worst) == (True, Severity.CRITICAL)
    assert told.findings[0].id == "site-unread"
    assert told.findings[0].places[0].evidence == "/ (robots.txt closes it, or cannot be had)"
    assert told.passed == ()
    assert {one.theme for one in told.themes if one.score is not None} <= {Theme.STATUS, Theme.ROBOTS}


def test_what_was_fixed_what_is_new_and_what_remains() -> None:
    before = report(site(gone("gone"), page("lost"), linked=False))
    after = report(site(page("lost"), page("alone"), linked=False))
    found = compare(before, after)
    changes = {change.id: change for change in found.changes}
    assert (changes["sitemap-dead"].fixed, changes["sitemap-dead"].fixed_urls) == (1, (at("gone"),))
    orphans = changes["pages-orphaned"]
    assert (orphans.new, orphans.remaining, orphans.fixed) == (1, 1, 0)
    assert orphans.new_urls == (at("alone"),)
    assert (found.fixed, found.new, found.remaining, found.unseen) == (1, 1, 1, 0)
    assert (found.pages_gone, found.pages_new) == (1, 1)
    assert (found.before_score, found.score) == (before.score, after.score)
    assert [list(Severity).index(change.severity) for change in found.changes] == [1, 2]


def test_the_same_twice_remains() -> None:
    one = report(site(gone("gone"), page("lost"), linked=False))
    found = compare(one, one)
    assert (found.fixed, found.new, found.unseen) == (0, 0, 0)
    assert found.remaining == sum(finding.pages for finding in one.findings)


def test_what_was_not_looked_at_again_is_not_fixed() -> None:
    before = report(site(gone("gone"), page("lost"), linked=False))
    cut = replace(good(), is_complete=False)
    found = compare(before, report(cut))
    fates = {change.id: (change.fixed, change.unseen) for change in found.changes}
    assert fates["pages-orphaned"] == (0, 1)  # its check had no answer
    assert fates["sitemap-dead"] == (0, 1)  # its page was not seen
    assert compare(before, report(good())).fixed == site_facts(before).addresses - 5


def test_what_the_whole_site_has_is_compared_too() -> None:
    before = report(replace(good(), missing_status=200))
    assert [change.id for change in compare(before, report(good())).changes] == ["missing-is-found"]
    assert compare(report(good()), before).new == 1


# The document.


def documented(check: Check[Site]) -> str:
    said = f"{check.title}. **{check.severity.capitalize()}.** {check.why}"
    return f"#### `{check.id}`\n\n{said}\n\n*Fix:* {check.fix}\n"


@pytest.mark.parametrize("check", SITE_CHECKS, ids=lambda check: check.id)
def test_the_document_tells_every_check(check: Check[Site]) -> None:
    assert documented(check) in DOCUMENT


def test_the_document_tells_no_other() -> None:
    assert DOCUMENT.partition("## The checks of a site")[2].count("\n#### ") == len(SITE_CHECKS)


def test_the_document_counts_right() -> None:
    told = " ".join(DOCUMENT.split())
    assert f"{len(PAGE_CHECKS)} questions" in told
    assert f"the site another {len(SITE_CHECKS)}" in told
