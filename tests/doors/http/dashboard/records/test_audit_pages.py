"""The pages of audits: started by a form, followed, read, compared and exported."""

import csv
import io
from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest
from tests.doors.http.api.audit.test_audits import ARTICLE, OPEN, over, working
from tests.doors.http.dashboard.records.test_jobs import HOSTILE, tenant_of
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit, Visiting
from tests.site.server import Site
from ulid import ULID

from gossamer.doors.http.dashboard.records.audit_addresses import AddressQuery, choose, to_csv
from gossamer.state.jobs import audits
from gossamer.web.audit.check import Severity, Theme
from gossamer.web.audit.report import (
    AuditOptions,
    AuditReport,
    Finding,
    FindingPlace,
    PageLine,
    SiteFacts,
    ThemeScore,
)

SITE = "https://a.example/"


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


def line(name: str, score: int | None = 80, *findings: str, status: int | None = 200) -> PageLine:
    url = f"{SITE}{name}"
    return PageLine(
        url=url, final_url=url, status=status, title=f"Title of {name}", score=score, findings=findings
    )


def finding(name: str, severity: Severity, *urls: str) -> Finding:
    place = FindingPlace(evidence=f"seen {HOSTILE}", urls=urls, more=0)
    return Finding(
        id=name,
        severity=severity,
        theme=Theme.TITLES,
        title=f"Wrong: {name}",
        why="It confuses.",
        fix=f"Change `<title>` {HOSTILE}",
        evidence=(),
        more=0,
        pages=len(urls),
        places=(place,),
    )


def site_report(score: int, findings: tuple[Finding, ...], pages: tuple[PageLine, ...]) -> AuditReport:
    return AuditReport(
        score=score,
        audited_at=1_767_268_800.0,
        themes=(
            ThemeScore(
                theme=Theme.TITLES,
                name="Titles",
                score=score,
                findings=len(findings),
                passed=3,
                not_checked=0,
            ),
        ),
        findings=findings,
        passed=(),
        not_checked=(),
        site=SiteFacts(
            start=SITE,
            addresses=len(pages),
            pages=len(pages),
            indexable=len(pages),
            checked=len(pages),
            statuses=(("2xx", len(pages)),),
            listed=None,
            is_complete=True,
        ),
        pages=pages,
    )


async def keep(visit: Visit, client: httpx.AsyncClient, report: AuditReport) -> str:
    audit_id = str(ULID())
    async with visit.service.database.write() as connection:
        await audits.add(
            connection,
            audit_id,
            tenant_id=await tenant_of(client),
            job_id=audit_id,
            url=SITE,
            options=AuditOptions(max_pages=10),
        )
        await audits.set_crawl(connection, audit_id, str(ULID()))
        await audits.complete(connection, audit_id, report, msgspec.json.encode(report).decode())
    return audit_id


async def keep_two(visit: Visit, client: httpx.AsyncClient) -> tuple[str, str]:
    """Two audits of a site. Between them, one finding was fixed and another one is new."""
    old, new = (
        finding("old-one", Severity.SERIOUS, f"{SITE}a"),
        finding("new-one", Severity.MINOR, f"{SITE}b"),
    )
    before = await keep(visit, client, site_report(60, (old,), (line("a", 60, "old-one"), line("b"))))
    after = await keep(visit, client, site_report(90, (new,), (line("a"), line("b", 70, "new-one"))))
    return before, after


async def test_an_empty_list_offers_the_form(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    shown = (await client.get("/app/audits")).text
    assert "No audits yet" in shown
    assert 'action="/app/audits"' in shown


async def test_an_audit_is_started_followed_and_read(visit: Visit, site: Site) -> None:
    client = await sign_in(visit, "admin")
    form = {
        "once": "one",
        "url": site.url(ARTICLE),
        "kind": "page",
        "maxLinks": "0",
        "maxPages": "",
        "timeout": "",
    }
    sent = await client.post("/app/audits", data=form)
    assert sent.status_code == 303, sent.text
    again = await client.post("/app/audits", data=form)
    where = sent.headers["location"]
    assert again.headers["location"] == where  # a double click is one audit

    waiting = (await client.get(where)).text
    assert "The audit has started." in waiting
    assert "data-job-events" in waiting
    async with working(visit):
        await over(visit, waiting.partition('data-job-events="/api/jobs/')[2][:26])

    shown = (await client.get(where)).text
    assert "data-job-events" not in shown
    assert "What to fix" in shown
    assert "How to fix it:" in shown
    assert "Open the report" in shown
    listed = (await client.get("/app/audits")).text
    assert "is-done" in listed
    assert 'class="score' in listed


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"url": "nonsense", "kind": "page"}, "nonsense"),
        ({"url": "", "kind": "page"}, "There is no address."),
        ({"url": "https://a.example/", "kind": "site", "maxPages": "999999"}, "5000"),
    ],
)
async def test_a_refused_form_keeps_what_was_typed(visit: Visit, fields: dict[str, str], said: str) -> None:
    client = await sign_in(visit, "user")
    shown = await client.post("/app/audits", data={"once": "one", **fields})
    assert shown.status_code == 400
    assert said in shown.text
    assert "data-problem" in shown.text
    assert f'name="url" value="{fields["url"]}"' in shown.text


async def test_a_site_is_compared_with_the_run_before(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    before, after = await keep_two(visit, client)

    shown = (await client.get(f"/app/audits/{after}")).text

    assert "Since the audit before" in shown
    assert "was 60, +30" in shown
    assert "Wrong: old-one" in shown
    assert f"/app/audits/{before}" in shown
    assert "<script>alert" not in shown
    assert "Since the audit before" not in (await client.get(f"/app/audits/{before}")).text


async def test_the_list_counts_findings_by_severity(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    await keep_two(visit, client)
    shown = (await client.get("/app/audits")).text
    assert '<b class="num">1</b> serious' in shown
    assert '<b class="num">1</b> minor' in shown


async def test_the_addresses_of_a_site_are_filtered_and_exported(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    _, after = await keep_two(visit, client)

    shown = (await client.get(f"/app/audits/{after}/pages?finding=new-one")).text
    assert "1 of 2 addresses" in shown
    assert "Title of b" in shown
    assert "Title of a" not in shown
    assert "No address matches" in (await client.get(f"/app/audits/{after}/pages?text=nowhere")).text

    sent = await client.get(f"/app/audits/{after}/pages.csv?finding=new-one")
    assert sent.headers["content-type"].startswith("text/csv")
    assert "attachment" in sent.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(sent.text)))
    assert [(row["url"], row["score"], row["findings"]) for row in rows] == [(f"{SITE}b", "70", "new-one")]


async def test_another_tenants_audit_is_not_there(visit: Visit) -> None:
    owner, other, admin = [await sign_in(visit, role) for role in ("user", "user", "admin")]
    _, after = await keep_two(visit, owner)
    for path in (f"/app/audits/{after}", f"/app/audits/{after}/pages", f"/app/audits/{after}/pages.csv"):
        assert (await other.get(path)).status_code == 404
        assert (await admin.get(path)).status_code == 200


def test_addresses_are_chosen_and_sorted() -> None:
    lines = [
        line("a", 90),
        line("b", 40, "x"),
        line("gone", None, status=404),
        line("mute", None, status=None),
    ]

    def names(**query: str) -> list[str]:
        return [one.url.removeprefix(SITE) for one in choose(lines, AddressQuery(**query))]

    assert names() == ["b", "a", "gone", "mute"]
    assert names(sort="url") == ["a", "b", "gone", "mute"]
    assert names(sort="nonsense") == names()
    assert names(status="4") == ["gone"]
    assert names(status="none") == ["mute"]
    assert names(text="TITLE OF A") == ["a"]


def test_a_title_is_no_formula_in_a_spreadsheet() -> None:
    hostile = msgspec.structs.replace(line("a"), title='=HYPERLINK("https://evil.example")')
    (row,) = csv.DictReader(io.StringIO(to_csv([hostile])))
    assert row["title"] == '\'=HYPERLINK("https://evil.example")'
