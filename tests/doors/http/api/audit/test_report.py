"""The report of an audit: complete in itself, safe whatever a page says, and readable by everybody."""

import base64
import hashlib
import re
from importlib import resources
from itertools import pairwise

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doors.http.docs.test_pages import Reader
from tests.web.audit.audit_subjects import GOOD, robots, subject

from gossamer.doors.cli.audit import report as terminal
from gossamer.doors.http.api.audit import report as html
from gossamer.doors.wording import PURPOSES, SEVERITIES, band, size
from gossamer.web.audit.audit import audit_page
from gossamer.web.audit.check import Severity
from gossamer.web.audit.report import AuditReport
from gossamer.web.pages.page import Hop
from gossamer.web.robots.bots import Purpose

HOSTILE = "<script>alert('`1`')</script>\"><img src=x onerror=alert(1)>{{ 7*7 }}&amp;\x1b[2J\u202e"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def poor() -> AuditReport:
    """A page of which much is wrong, and all of it hostile."""
    page = GOOD.replace("How orb weavers mend their webs | Field Notes", HOSTILE.replace("<", "&lt;"))
    page = page.replace(
        "</article>", f'<a href="/x"></a><a href="{HOSTILE.replace(chr(34), "")}">here</a></article>'
    )
    return audit_page(
        subject(
            page,
            status=404,
            headers={"x-hostile": HOSTILE, "set-cookie": f"a={HOSTILE}"},
            redirects=(Hop("https://a.example/", 301), Hop(f"https://b.example/{HOSTILE}", 302)),
            of={"robots": robots("User-agent: GPTBot\nDisallow: /"), "sitemap": None},
        )
    )


def read(report: AuditReport) -> Reader:
    return Reader(html.render(report).decode())


def test_a_report_tells_every_finding() -> None:
    report = poor()
    words = read(report).words
    for finding in report.findings:
        for part in (finding.id, finding.title, finding.why, finding.fix):
            assert " ".join(part.replace("`", "").split()) in words
    for passed in report.passed:
        assert passed.title in words
    for one in report.not_checked:
        assert one.title in words
        assert one.reason.replace("`", "") in words
    for theme in report.themes:
        assert theme.name in words
    assert f"{report.score} of 100" in words
    assert "GPTBot OpenAI no" in words
    assert "ClaudeBot Anthropic yes" in words


@pytest.mark.parametrize(
    "report", [audit_page(subject()), poor(), audit_page(subject("{}", media_type="application/json"))]
)
def test_a_report_needs_nothing_but_itself(report: AuditReport) -> None:
    rendered = html.render(report)
    page = Reader(rendered.decode())
    assert not {tag for tag, _ in page.elements} & {"script", "iframe", "form", "object", "img"}
    assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in page.values("href"))
    assert "src" not in page.attributes
    anchors = page.values("id")
    assert len(set(anchors)) == len(anchors)
    targets = [link[1:] for link in page.values("href") if link.startswith("#")]
    assert set(targets) | set(page.values("aria-labelledby")) <= set(anchors)


def test_the_policy_allows_the_one_style_and_nothing_else() -> None:
    rendered = html.render(audit_page(subject()))
    style = re.search(r"<style>(.*?)</style>", rendered.decode(), re.S)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in html.policy()
    assert "default-src 'none'" in html.policy()
    assert "unsafe" not in html.policy()
    assert html.headers()["Content-Security-Policy"] == html.policy()
    meta = next(
        attributes["content"]
        for tag, attributes in Reader(rendered.decode()).elements
        if tag == "meta" and attributes.get("http-equiv")
    )
    assert html.policy().startswith(meta)
    for loading in ("url(", "@import", "</style"):
        assert loading not in style[1]


def test_hostile_text_stays_text() -> None:
    report = poor()
    page = read(report)
    assert not {tag for tag, _ in page.elements} & {"script", "img"}
    assert "<script>alert(" in page.text
    assert "{{ 7*7 }}" in page.text


def test_a_report_can_be_walked_without_sight_or_mouse() -> None:
    page = read(poor())
    tags = [tag for tag, _ in page.elements]
    assert (tags.count("h1"), tags.count("main")) == (1, 1)
    assert ("html", {"lang": "en"}) in page.elements
    assert next(attributes for tag, attributes in page.elements if tag == "a")["href"] == "#content"
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(attributes["tabindex"] == "0" for tag, attributes in page.elements if tag == "pre")
    gauge = next(attributes for tag, attributes in page.elements if attributes.get("role") == "img")
    assert re.fullmatch(r"Score: \d+ of 100", gauge["aria-label"])


def test_what_is_serious_is_open_and_what_is_printed_is_too() -> None:
    page = read(poor())
    findings = [attributes for tag, attributes in page.elements if attributes.get("class") == "finding"]
    assert "open" in findings[0]
    assert "open" not in findings[-1]
    style = resources.files("gossamer.doors.http").joinpath("templates", "report.css").read_text()
    assert "details::details-content" in style[style.index("@media print") :]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_wcag_1_4_3_every_colour_of_text_stands_out(dark: bool) -> None:
    folder = resources.files("gossamer.doors.http").joinpath("templates")
    colours: dict[str, str] = {}
    for sheet in ("pages.css", "report.css"):
        screen = folder.joinpath(sheet).read_text().partition("@media print")[0]
        for at, block in enumerate(re.findall(r":root \{(.*?)\}", screen, re.S)):
            if at == 0 or dark:
                colours.update(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    for name in ("ink", "soft", "thread", "blue", "amber", "red", "violet", "good", "fair", "weak", "poor"):
        for ground in ("paper", "raised", "wash"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@settings(max_examples=40)
@given(texts, texts)
def test_any_page_has_a_report(title: str, body: str) -> None:
    report = audit_page(subject(f"<title>{title}</title><p>{body}</p>"))
    assert html.render(report).startswith(b"<!doctype html>")
    assert terminal.render(report)


# The terminal.


@pytest.mark.parametrize("width", [10, 40, 80, 200])
def test_the_terminal_report_is_no_wider_than_the_terminal(width: int) -> None:
    lines = COLOUR.sub("", terminal.render(poor(), width=width)).splitlines()
    assert max(map(len, lines)) <= max(40, min(width, 100))


def test_the_terminal_report_tells_what_to_fix() -> None:
    report = poor()
    text = COLOUR.sub("", terminal.render(report, width=100))
    for finding in report.findings:
        assert finding.title in text
        assert f"({finding.id})" in text
    assert f"{report.score} of 100" in text
    assert "Training: closed to GPTBot" in text
    assert text.index("Critical") < text.index("Moderate") < text.index("Minor")
    assert report.passed[0].title not in text
    assert report.passed[0].title in terminal.render(report, full=True)


def test_what_a_page_says_does_not_reach_the_terminal_as_a_command() -> None:
    text = COLOUR.sub("", terminal.render(poor(), full=True))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_in_a_pipe_it_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    click.echo(terminal.render(audit_page(subject())), nl=False)
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert told.startswith("How orb weavers mend their webs | Field Notes\n")
    assert "100 of 100\nNothing is wrong with this page." in told


def test_colours_say_how_bad_it_is() -> None:
    text = terminal.render(poor())
    assert click.style("Critical", fg="red", bold=True) in text
    assert [band(points) for points in (None, 100, 90, 89, 70, 69, 50, 49, 0)] == [
        "unknown", "good", "good", "fair", "fair", "weak", "weak", "poor", "poor",
    ]  # fmt: skip


def test_sizes_are_told_in_decimal_units() -> None:
    assert [size(count) for count in (0, 999, 1_000, 147_033, 2_500_000)] == [
        "0 bytes", "999 bytes", "1.0 KB", "147.0 KB", "2.5 MB",
    ]  # fmt: skip


def test_every_severity_and_purpose_has_a_name() -> None:
    assert set(SEVERITIES) == set(Severity)
    assert set(PURPOSES) == set(Purpose)
