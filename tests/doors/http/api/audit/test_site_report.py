"""The report of a site's audit: complete in itself, safe whatever pages say, and readable by everybody."""

import re
from itertools import pairwise

import pytest
from msgspec import structs
from msgspec.structs import replace
from tests.doors.http.api.audit.test_report import COLOUR, HOSTILE
from tests.doors.http.docs.test_pages import Reader
from tests.web.audit.audit_subjects import subject
from tests.web.audit.site_pages import at, gone, good, page, site

from gossamer.doors.cli.audit import report as terminal
from gossamer.doors.http.api.audit import report as html
from gossamer.web.audit.audit import PageFindings, audit_page, audit_site
from gossamer.web.audit.comparison import Comparison, compare
from gossamer.web.audit.report import AuditReport


def poor() -> AuditReport:
    """A site of which much is wrong, and all of it hostile."""
    findings = PageFindings()
    hostile = subject(f"<title>{HOSTILE.replace('<', '&lt;')}</title><p>x", final_url=at("orb"))
    findings.add(at("orb"), audit_page(hostile))
    pages = [page(f"twin{number}", title=HOSTILE, content_hash="same") for number in range(30)]
    spoilt = site(gone(f"gone{HOSTILE}"), gone("broken", None, problem=HOSTILE), *pages, page("lost"))
    return audit_site(replace(spoilt, missing_status=200), findings, now=1_777_000_000.0)


def clean() -> AuditReport:
    return audit_site(good(), PageFindings(), now=1_777_000_000.0)


def compared() -> Comparison:
    return compare(clean(), poor())


def test_a_report_tells_every_finding_and_every_change() -> None:
    report = poor()
    words = Reader(html.render(report, compared()).decode()).words
    for finding in report.findings:
        for part in (finding.id, finding.title, finding.why, finding.fix):
            assert " ".join(part.replace("`", "").split()) in words
    for line in report.pages:
        assert " ".join(line.url.split()) in words
    assert all(one.title in words for one in report.passed)
    assert all(one.title in words for one in report.not_checked)
    assert f"{report.score} of 100" in words
    assert "Since the last audit" in words
    assert f"New {compared().new:,}" in words
    same = Reader(html.render(report, compare(report, report)).decode()).words
    assert "No finding is fixed or new." in same
    assert "No finding is fixed or new." not in words
    assert "Since the last audit" not in Reader(html.render(report).decode()).words


@pytest.mark.parametrize("report", [poor(), clean(), structs.replace(clean(), pages=())])
def test_a_report_needs_nothing_but_itself(report: AuditReport) -> None:
    rendered = html.render(report, compared())
    shown = Reader(rendered.decode())
    assert "default-src 'none'" in html.policy()
    assert not {tag for tag, _ in shown.elements} & {"script", "iframe", "form", "object", "img"}
    assert not [name for name in shown.attributes if name.startswith("on") or name == "style"]
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in shown.values("href"))
    anchors = shown.values("id")
    assert len(set(anchors)) == len(anchors)
    targets = [link[1:] for link in shown.values("href") if link.startswith("#")]
    assert set(targets) | set(shown.values("aria-labelledby")) <= set(anchors)
    tags = [tag for tag, _ in shown.elements]
    assert (tags.count("h1"), tags.count("main")) == (1, 1)
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_hostile_text_stays_text() -> None:
    shown = Reader(html.render(poor(), compared()).decode())
    assert not {tag for tag, _ in shown.elements} & {"script", "img"}
    assert "{{ 7*7 }}" in shown.text
    text = COLOUR.sub("", terminal.render(poor(), compared(), full=True))
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("width", [10, 40, 80, 200])
def test_the_terminal_report_is_no_wider_than_the_terminal(width: int) -> None:
    lines = COLOUR.sub("", terminal.render(poor(), compared(), width=width)).splitlines()
    assert max(map(len, lines)) <= max(40, min(width, 100))


def test_the_terminal_report_tells_what_to_fix_and_what_changed() -> None:
    report = poor()
    text = COLOUR.sub("", terminal.render(report, compared(), width=100))
    for finding in report.findings:
        assert f"({finding.id})" in text
    assert "and 27 more pages" in text
    assert "Since the last audit" in text
    assert f"0 fixed, {compared().new:,} new" in text
    assert report.passed[0].title not in text
    assert report.passed[0].title in terminal.render(report, full=True)
    assert "Nothing is wrong with this site." in terminal.render(clean())
    facts = clean().site
    assert facts is not None
    cut = structs.replace(clean(), site=structs.replace(facts, is_complete=False))
    assert "There is more than was looked at" in terminal.render(cut)
