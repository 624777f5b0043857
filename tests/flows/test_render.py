"""The rules of rendering: what is one page, how old it may be, what is tried again, how long it takes."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import problems
from gossamer.flows.pace import BELIEVED_SECONDS, UNKNOWN, Pace
from gossamer.flows.render import BOTS, Look, Payload, job_key, page_key, page_part, refuse
from gossamer.flows.render_failure import MAX_ATTEMPTS, Code, Failure, RenderPolicy, failed, translated
from gossamer.flows.render_job import patience
from gossamer.flows.serve import REFUSED_SECONDS, Wish
from gossamer.flows.workbench import prepared
from gossamer.problems import Problem, Unavailable
from gossamer.reach import tab
from gossamer.state import job_table, renders, tenants
from gossamer.state.database import Database
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.job import NewJob, State
from gossamer.state.job_text import told
from gossamer.state.jobs import Job
from gossamer.state.render_failures import Failed, RenderFailures
from gossamer.web.page import Page
from gossamer.web.url import Url

POLICY = RenderPolicy()
JOB = Job(
    job_id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D", tenant_id="t", kind="render", status=State.FAILED, priority=0,
    attempt=1, max_attempts=MAX_ATTEMPTS, queued_at=0, run_at=0, started_at=0, finished_at=1,
    locked_until=None, locked_by=None, cancel_requested=False, idempotency_key=None, payload_json="{}",
    result_json=None, last_error=None, progress_pct=0, event_seq=0, request_id="",
)  # fmt: skip


def key(url: str, tenant: str = "t", look: Look | None = None, **manner: Any) -> str:
    return job_key(page_key(tenant, Url.parse(url), look or Look()), Payload(url=url, **manner))


def test_one_page_has_one_job_however_it_is_spelt() -> None:
    assert key("https://Shop.example/a/?b=2&a=1&utm_source=x#c") == key("https://shop.example/a?a=1&b=2")
    looks = [Look(bot=bot, keep_scripts=keep) for bot in BOTS for keep in (False, True)]
    different = [key("https://a.example/", look=look) for look in looks]
    different += [key("https://a.example/", "u"), key("https://a.example/b")]
    assert len(set(different)) == len(different)
    assert all(len(one) == 64 for one in different)


def test_who_asks_in_another_manner_has_a_job_of_their_own_for_the_same_page() -> None:
    url = "https://a.example/"
    keys = [
        key(url),
        key("http://a.example/"),
        key(url, timeout=8.0),
        key(url, wait_for="#never"),
        key(url, wait_for="#never", timeout=8.0),
    ]
    assert len(set(keys)) == len(keys)
    page = page_part(page_key("t", Url.parse(url), Look()))
    assert {one[: renders.PAGE_PART] for one in keys} == {page}
    assert key(url, key_id="k") == key(url)


AGES = st.floats(0, 1e9)


@given(AGES, st.none() | AGES, AGES, AGES)
def test_how_old_a_page_may_be(age: float, max_age: float | None, revalidate: float, error: float) -> None:
    wish = Wish(
        url=Url.parse("https://a.example/"),
        max_age=max_age,
        stale_while_revalidate=revalidate,
        stale_if_error=error,
    )
    if max_age is None:
        assert wish.is_fresh(age)
        return
    assert wish.is_fresh(age) == (age <= max_age)
    assert wish.may_be_revalidated(age) == (age <= max_age + revalidate)
    assert wish.may_stand_in(age) == (age <= max_age + error)


def pauses(problem: Problem) -> list[float | None]:
    return [POLICY.pause(problem, attempt, lambda: 0.0) for attempt in range(1, 5)]


def test_seed6_3_what_is_tried_again() -> None:
    assert pauses(failed(Code.RENDER_TIMEOUT, "late")) == [0.0, None, None, None]
    assert pauses(failed(Code.NETWORK_ERROR, "refused")) == [2.0, 4.0, 8.0, None]
    assert pauses(failed(Code.WORKER_ERROR, "crashed")) == [2.0, 4.0, 8.0, None]
    assert pauses(failed(Code.PAGE_ERROR, "404")) == [None] * 4
    assert pauses(Unavailable("browser", "busy", retry_after=7)) == [7.0, 7.0, 8.0, None]
    blocked = Problem(problems.INVALID_URL, "no", details={"reason": "hostname_blocked"})
    assert pauses(blocked) == [None] * 4
    for lasting in ("ERR_UNSAFE_PORT", "ERR_CERT_DATE_INVALID", "ERR_TOO_MANY_REDIRECTS", "dns_not_found"):
        assert pauses(failed(Code.NETWORK_ERROR, "never", cause=lasting)) == [None] * 4
    assert pauses(failed(Code.NETWORK_ERROR, "refused", cause="ERR_CONNECTION_REFUSED"))[0] == 2.0
    assert pauses(Problem(problems.CONTENT_TOO_LARGE, "much")) == [None] * 4
    assert POLICY.pause(RuntimeError("a defect"), 1, lambda: 0.0) is None


def test_which_attempt_is_the_last_and_what_is_of_no_use_to_try_again() -> None:
    late, gone = failed(Code.RENDER_TIMEOUT, "late"), failed(Code.PAGE_ERROR, "404")
    assert [POLICY.is_last(late, replace(JOB, attempt=attempt)) for attempt in (1, 2)] == [False, True]
    assert POLICY.is_last(gone, JOB)
    crashed = failed(Code.WORKER_ERROR, "crashed")
    assert POLICY.is_last(crashed, replace(JOB, attempt=1, max_attempts=1))
    assert [POLICY.is_final(one) for one in (late, crashed, gone)] == [False, False, True]


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.CANCELED])
def test_why_it_failed_is_known_later(code: Code) -> None:
    raised = translated(Problem(problems.RENDER_FAILED, "It: went wrong", details={"reason": code.value}))
    failure = Failure.of(replace(JOB, last_error=told(raised)))
    assert failure is not None
    assert (failure.code, failure.detail, failure.kind) == (code, "It: went wrong", problems.RENDER_FAILED)
    assert failure.suggestion
    problem = failure.problem(JOB)
    assert problem.members["details"]["reason"] == code
    assert problem.members["details"]["jobId"] == JOB.job_id


def test_what_was_wrong_with_the_request_is_told_as_that() -> None:
    blocked = Problem(problems.INVALID_URL, "Not allowed.", details={"reason": "port_blocked", "url": "x"})
    failure = Failure.of(replace(JOB, last_error=told(translated(blocked))))
    assert failure is not None
    assert failure.code is Code.NETWORK_ERROR
    problem = failure.problem(JOB)
    assert (problem.kind, problem.detail) == (problems.INVALID_URL, "Not allowed.")
    assert problem.members["details"]["reason"] == "port_blocked"
    selector = Failure.of(replace(JOB, last_error=told(Problem(problems.INVALID_SELECTOR, "'['"))))
    assert selector is not None
    assert (selector.code, selector.problem(JOB).kind) == (Code.PAGE_ERROR, problems.INVALID_SELECTOR)
    assert "querySelector" in selector.suggestion


def suggestion(problem: Problem) -> str:
    failure = Failure.of(replace(JOB, last_error=told(translated(problem))))
    assert failure is not None
    return failure.suggestion


def test_what_is_suggested_follows_from_what_happened() -> None:
    different = [
        suggestion(failed(Code.PAGE_ERROR, "The page answered with status 404.")),
        suggestion(Problem(problems.RENDER_FAILED, tab.TOO_HEAVY, details={"reason": "page_error"})),
        suggestion(Problem(problems.CONTENT_TOO_LARGE, "much", details={"reason": "too_large"})),
        suggestion(Problem(problems.INVALID_URL, "no", details={"reason": "hostname_blocked"})),
        suggestion(failed(Code.NETWORK_ERROR, "refused")),
        suggestion(failed(Code.RENDER_TIMEOUT, "late")),
    ]
    assert len(set(different)) == len(different)
    assert "load less" in different[1]


def test_the_problems_page_names_every_reason_and_what_to_do_about_it() -> None:
    kind = problems.RENDER_FAILED
    for code in Code:
        assert any(f"`{code}`" in cause for cause in kind.causes)
        assert any(f"`{code}`" in fix for fix in kind.fixes)


@pytest.mark.parametrize(
    "line", ["INTERNAL_ERROR: RuntimeError: x", "no code at all", "SERVICE_UNAVAILABLE: The browser is busy."]
)
def test_whatever_else_happened_is_ours(line: str) -> None:
    failure = Failure.of(replace(JOB, last_error=line))
    assert failure is not None
    assert failure.code is Code.WORKER_ERROR
    assert failure.problem(JOB).kind is problems.RENDER_FAILED


def test_a_job_without_an_error_has_no_failure_unless_it_was_canceled() -> None:
    assert Failure.of(replace(JOB, status=State.RUNNING)) is None
    canceled = Failure.of(replace(JOB, status=State.CANCELED))
    assert canceled is not None
    assert canceled.code is Code.CANCELED


def test_seed6_3_after_a_timeout_there_is_twice_the_time() -> None:
    late = told(failed(Code.RENDER_TIMEOUT, "late"))
    assert patience(replace(JOB, status=State.RUNNING, attempt=2, last_error=late)) == 2.0
    assert patience(replace(JOB, status=State.RUNNING)) == 1.0
    other = told(failed(Code.NETWORK_ERROR, "refused"))
    assert patience(replace(JOB, status=State.RUNNING, attempt=2, last_error=other)) == 1.0


PROSE = "<p>Orb weavers build a new web nearly every day, mostly at night, and eat the old one.</p>" * 6
WALL = "<title>Just a moment...</title><p>Checking your browser before accessing the site.</p>"


def page(body: str, status: int = 200) -> Page:
    return Page(
        url="https://a.example/",
        final_url="https://a.example/",
        status=status,
        headers=(),
        body=body.encode(),
        media_type="text/html",
        charset="utf-8",
        via="render",
    )


@pytest.mark.parametrize(
    ("rendered", "outcome"),
    [
        (page(PROSE, 404), None),
        (page(PROSE, 503), None),
        (page(WALL), "blocked"),
        (page("<title>Page not found</title><h1>Page not found</h1>"), "soft_404"),
        (page("<div id=root></div><script src=/app.js></script>"), "empty"),
    ],
)
def test_decision2_what_is_refused(rendered: Page, outcome: str | None) -> None:
    with pytest.raises(Problem) as refused:
        refuse(rendered, prepared(rendered, keep_scripts=False))
    details = refused.value.members["details"]
    assert details["reason"] == "page_error"
    assert details.get("outcome") == outcome


def saying(status: int, body: str = PROSE) -> Page:
    return page(f'<meta name="prerender-status-code" content="{status}">{body}')


@pytest.mark.parametrize("status", [301, 302, 404, 410])
def test_a_page_that_says_that_it_is_gone_or_elsewhere_is_taken_at_its_word(status: int) -> None:
    said = saying(status, "<title>Not found</title><h1>Not found</h1>")
    refuse(said, prepared(said, keep_scripts=False))


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 503])
def test_a_page_that_says_that_something_went_wrong_is_refused(status: int) -> None:
    with pytest.raises(Problem, match=str(status)) as refused:
        refuse(saying(status), prepared(saying(status), keep_scripts=False))
    assert refused.value.members["details"] == {"reason": "page_error", "status": status}


def test_a_page_that_says_that_all_is_well_is_judged_all_the_same() -> None:
    refuse(saying(200), prepared(saying(200), keep_scripts=False))
    refuse(page(PROSE), prepared(page(PROSE), keep_scripts=False))
    with pytest.raises(Problem) as refused:
        refuse(saying(200, WALL), prepared(saying(200, WALL), keep_scripts=False))
    assert refused.value.members["details"]["outcome"] == "blocked"


async def test_the_pace_is_a_moving_median_and_the_queue(database: Database) -> None:
    now = itertools.count(step=BELIEVED_SECONDS)
    hot = MemoryHot()
    pace = Pace(hot, database, places=2, clock=lambda: next(now))
    assert await pace.estimate() == UNKNOWN
    for took in (100, 900, 300):
        await pace.took(took)
    assert await pace.estimate() == 300
    assert await Pace(hot, database, places=2).estimate() == 300  # another process, which renders nothing
    async with database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "a@example.com")
        for number in range(5):
            payload = Payload(url=f"https://a.example/{number}")
            await job_table.put(connection, NewJob(kind="render", tenant_id=tenant.id, payload=payload))
    assert await pace.estimate() == 900  # two rounds of two go before
    for _ in range(200):
        await pace.took(50)
    assert await pace.estimate() == 150


def test_how_long_a_failure_is_believed() -> None:
    def believes(age: float, max_age: float | None) -> bool:
        return Wish(url=Url.parse("https://a.example/"), max_age=max_age).believes(age)

    assert believes(REFUSED_SECONDS - 1, None)
    assert not believes(REFUSED_SECONDS, None)
    assert not believes(0.0, 0.0)
    assert believes(9.0, 10.0)
    assert not believes(10.0, 10.0)
    assert not believes(REFUSED_SECONDS, 1e9)


async def test_failures_are_marked_until_a_page_is_good_again_or_cleared() -> None:
    hot = MemoryHot()
    failures = RenderFailures(hot)
    mine = page_key("t", Url.parse("https://a.example/"), Look())
    theirs = mine._replace(tenant="u")
    assert await failures.last(mine) is None
    await failures.mark(mine, Failed(1234.5, "job", "key"))
    assert await failures.last(mine) == Failed(1234.5, "job", "key")
    assert await failures.last(theirs) is None
    await failures.clear(mine, theirs)
    assert await failures.last(mine) is None
    await failures.mark(theirs, Failed(1.0))
    for at, last in ((1.0, None), (3.0, None), (3.1, Failed(3.1))):
        await failures.mark(mine, Failed(at))
        await failures.clear_tenant("t", 3.0)
        assert await failures.last(mine) == last
    assert await failures.last(theirs) == Failed(1.0)
    await hot.put(f"render:failed:{mine.name}", b"1234.5", 60.0)  # as it once was written
    assert await failures.last(mine) is None
