"""The rules of rendering: what is one page, how old it may be, what is tried again, how long it takes."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.parsers.parser_process import Prepared, PrepareTask
from gossamer.flows.render.pace import CACHED_SECONDS, UNKNOWN, RenderPace
from gossamer.flows.render.render import BOT_TOKENS, RenderPayload, job_key, page_key, page_part, refuse
from gossamer.flows.render.render_failure import (
    MAX_ATTEMPTS,
    RenderFailure,
    RenderPolicy,
    add_label,
)
from gossamer.flows.render.render_job import patience
from gossamer.flows.render.serve import REFUSED_SECONDS, is_believed
from gossamer.problems import Problem, Unavailable
from gossamer.reach.page.visit import Awaited, PageTrouble, given_up, render_failed
from gossamer.state.db.database import Database
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, JobError, JobState, NewJob
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.pages.page_key import DEFAULT_VARIANT
from gossamer.state.render import renders
from gossamer.state.render.render_failures import FailedRender, RenderFailures
from gossamer.state.tenants import tenants
from gossamer.web.pages.page import Page
from gossamer.web.render.request import RenderErrorCode, RenderRequest
from gossamer.web.url.url import Url

POLICY = RenderPolicy()
JOB = Job(
    job_id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D", tenant_id="t", kind="render", status=JobState.FAILED, priority=0,
    attempt=1, max_attempts=MAX_ATTEMPTS, queued_at=0, run_at=0, started_at=0, finished_at=1,
    locked_until=None, locked_by=None, cancel_requested=False, idempotency_key=None, payload_json="{}",
    result_json=None, last_error=None, progress_pct=0, event_seq=0, request_id="",
)  # fmt: skip


def key(url: str, tenant: str = "t", **options: Any) -> str:
    request = RenderRequest(url=url, **options)
    return job_key(page_key(tenant, Url.parse(url), request.variant), request)


def test_one_page_has_one_job_however_it_is_spelt() -> None:
    assert key("https://Shop.example/a?b=2&a=1&utm_source=x#c") == key("https://shop.example/a?a=1&b=2")
    different = [
        key("https://a.example/", bot=bot, keep_scripts=keep, device=device)
        for bot in BOT_TOKENS
        for keep in (False, True)
        for device in ("desktop", "mobile")
    ]
    different += [key("https://a.example/", "u"), key("https://a.example/b")]
    assert len(set(different)) == len(different)
    assert all(len(one) == 64 for one in different)


def test_who_asks_in_another_manner_has_a_job_of_their_own_for_the_same_page() -> None:
    url = "https://a.example/"
    keys = [
        key(url),
        key("http://a.example/"),
        key("https://a.example//"),
        key(url, timeout=8_000),
        key(url, wait_for_selector="#never"),
        key(url, wait_for_selector="#never", timeout=8_000),
    ]
    assert len(set(keys)) == len(keys)
    page = page_part("t", url, DEFAULT_VARIANT)
    assert {one[: renders.PAGE_PART] for one in keys} == {page}
    assert key(url, wait=5.0, max_age=60) == key(url)


AGES = st.floats(0, 1e9)
LIMITS = st.integers(0, 10**9)


@given(AGES, st.none() | LIMITS, LIMITS, LIMITS)
def test_how_old_a_page_may_be(age: float, max_age: int | None, revalidate: int, error: int) -> None:
    request = RenderRequest(
        url="https://a.example/",
        max_age=max_age,
        stale_while_revalidate=revalidate,
        stale_if_error=error,
    )
    if max_age is None:
        assert request.is_fresh(age)
        return
    assert request.is_fresh(age) == (age <= max_age)
    assert request.may_be_revalidated(age) == (age <= max_age + revalidate)
    assert request.may_replace_failed(age) == (age <= max_age + error)


def pauses(problem: Problem) -> list[float | None]:
    return [POLICY.pause(problem, attempt, lambda: 0.0) for attempt in range(1, 5)]


def test_seed6_3_what_is_tried_again() -> None:
    assert pauses(render_failed(RenderErrorCode.RENDER_TIMEOUT, "late")) == [0.0, None, None, None]
    assert pauses(render_failed(RenderErrorCode.NETWORK_ERROR, "refused")) == [2.0, 4.0, 8.0, None]
    assert pauses(render_failed(RenderErrorCode.WORKER_ERROR, "crashed")) == [2.0, 4.0, 8.0, None]
    assert pauses(render_failed(RenderErrorCode.PAGE_ERROR, "404")) == [None] * 4
    assert pauses(Unavailable("browser", "busy", retry_after=7)) == [7.0, 7.0, 8.0, None]
    blocked = Problem(problems.INVALID_URL, "no", details={"reason": "hostname_blocked"})
    assert pauses(blocked) == [None] * 4
    for lasting in ("ERR_UNSAFE_PORT", "ERR_CERT_DATE_INVALID", "ERR_TOO_MANY_REDIRECTS", "dns_not_found"):
        assert pauses(render_failed(RenderErrorCode.NETWORK_ERROR, "never", cause=lasting)) == [None] * 4
    assert (
        pauses(render_failed(RenderErrorCode.NETWORK_ERROR, "refused", cause="ERR_CONNECTION_REFUSED"))[0]
        == 2.0
    )
    assert pauses(Problem(problems.CONTENT_TOO_LARGE, "much")) == [None] * 4
    assert POLICY.pause(RuntimeError("a defect"), 1, lambda: 0.0) is None


def test_which_attempt_is_the_last_and_what_is_of_no_use_to_try_again() -> None:
    late, gone = (
        render_failed(RenderErrorCode.RENDER_TIMEOUT, "late"),
        render_failed(RenderErrorCode.PAGE_ERROR, "404"),
    )
    assert [POLICY.is_last(late, replace(JOB, attempt=attempt)) for attempt in (1, 2)] == [False, True]
    assert POLICY.is_last(gone, JOB)
    crashed = render_failed(RenderErrorCode.WORKER_ERROR, "crashed")
    assert POLICY.is_last(crashed, replace(JOB, attempt=1, max_attempts=1))
    assert [POLICY.is_final(one) for one in (late, crashed, gone)] == [False, False, True]


@pytest.mark.parametrize("code", [code for code in RenderErrorCode if code is not RenderErrorCode.CANCELED])
def test_why_it_failed_is_known_later(code: RenderErrorCode) -> None:
    raised = render_failed(code, "It: went wrong")
    failure = RenderFailure.of(replace(JOB, last_error=JobError.of(raised)))
    assert failure is not None
    assert (failure.code, failure.detail, failure.kind) == (code, "It: went wrong", problems.RENDER_FAILED)
    assert failure.suggestion
    problem = failure.problem(JOB)
    assert problem.members["details"]["reason"] == code
    assert problem.members["details"]["jobId"] == JOB.job_id


@pytest.mark.parametrize("awaited", Awaited)
def test_what_was_waited_for_is_known_later(awaited: Awaited) -> None:
    raised = render_failed(RenderErrorCode.RENDER_TIMEOUT, "It: took/too long", awaited=awaited)
    add_label(raised)
    assert str(JobError.of(raised)) == f"RENDER_FAILED: render_timeout/{awaited}: It: took/too long"
    failure = RenderFailure.of(replace(JOB, last_error=JobError.of(raised)))
    assert failure is not None
    assert (failure.code, failure.awaited) == (RenderErrorCode.RENDER_TIMEOUT, awaited)
    assert failure.detail == "It: took/too long"
    assert failure.problem(JOB).members["details"]["awaited"] == awaited.value


def test_what_was_wrong_with_the_request_is_told_as_that() -> None:
    blocked = Problem(problems.INVALID_URL, "Not allowed.", details={"reason": "port_blocked", "url": "x"})
    failure = RenderFailure.of(replace(JOB, last_error=JobError.of(blocked)))
    assert failure is not None
    assert failure.code is RenderErrorCode.NETWORK_ERROR
    problem = failure.problem(JOB)
    assert (problem.kind, problem.detail) == (problems.INVALID_URL, "Not allowed.")
    assert problem.members["details"]["reason"] == "port_blocked"
    selector = RenderFailure.of(
        replace(JOB, last_error=JobError.of(Problem(problems.INVALID_SELECTOR, "'['")))
    )
    assert selector is not None
    assert (selector.code, selector.problem(JOB).kind) == (
        RenderErrorCode.PAGE_ERROR,
        problems.INVALID_SELECTOR,
    )
    assert "querySelector" in selector.suggestion


def suggestion(problem: Problem) -> str:
    failure = RenderFailure.of(replace(JOB, last_error=JobError.of(problem)))
    assert failure is not None
    return failure.suggestion


def test_what_is_suggested_follows_from_what_happened() -> None:
    different = [
        suggestion(render_failed(RenderErrorCode.PAGE_ERROR, "The page answered with status 404.")),
        suggestion(given_up(PageTrouble.OUT_OF_MEMORY)),
        suggestion(Problem(problems.CONTENT_TOO_LARGE, "much", details={"reason": "too_large"})),
        suggestion(Problem(problems.INVALID_URL, "no", details={"reason": "hostname_blocked"})),
        suggestion(render_failed(RenderErrorCode.NETWORK_ERROR, "refused")),
        suggestion(render_failed(RenderErrorCode.RENDER_TIMEOUT, "late")),
    ]
    assert len(set(different)) == len(different)
    assert "load less" in different[1]


def test_the_problems_page_names_every_reason_and_what_to_do_about_it() -> None:
    kind = problems.RENDER_FAILED
    for code in RenderErrorCode:
        assert any(f"`{code}`" in cause for cause in kind.causes)
        assert any(f"`{code}`" in fix for fix in kind.fixes)


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), Unavailable("browser", "busy"), Problem(problems.NOT_FOUND, "no: reason")]
)
def test_whatever_else_happened_is_ours(error: Exception) -> None:
    failure = RenderFailure.of(replace(JOB, last_error=JobError.of(error)))
    assert failure is not None
    assert failure.code is RenderErrorCode.WORKER_ERROR
    assert failure.problem(JOB).kind is problems.RENDER_FAILED


def test_a_job_without_an_error_has_no_failure_unless_it_was_canceled() -> None:
    assert RenderFailure.of(replace(JOB, status=JobState.RUNNING)) is None
    canceled = RenderFailure.of(replace(JOB, status=JobState.CANCELED))
    assert canceled is not None
    assert canceled.code is RenderErrorCode.CANCELED


def test_seed6_3_after_a_timeout_there_is_twice_the_time() -> None:
    late = JobError.of(render_failed(RenderErrorCode.RENDER_TIMEOUT, "late"))
    assert patience(replace(JOB, status=JobState.RUNNING, attempt=2, last_error=late)) == 2.0
    assert patience(replace(JOB, status=JobState.RUNNING)) == 1.0
    other = JobError.of(render_failed(RenderErrorCode.NETWORK_ERROR, "refused"))
    assert patience(replace(JOB, status=JobState.RUNNING, attempt=2, last_error=other)) == 1.0


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


def _prepare(page: Page) -> Prepared:
    return PrepareTask(page, keep_scripts=False).run()


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
        refuse(rendered, _prepare(rendered))
    details = refused.value.members["details"]
    assert details["reason"] == "page_error"
    assert details.get("outcome") == outcome


def saying(status: int, body: str = PROSE) -> Page:
    return page(f'<meta name="prerender-status-code" content="{status}">{body}')


@pytest.mark.parametrize("status", [301, 302, 404, 410])
def test_a_page_that_says_that_it_is_gone_or_elsewhere_is_taken_at_its_word(status: int) -> None:
    said = saying(status, "<title>Not found</title><h1>Not found</h1>")
    refuse(said, _prepare(said))


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 503])
def test_a_page_that_says_that_something_went_wrong_is_refused(status: int) -> None:
    with pytest.raises(Problem, match=str(status)) as refused:
        refuse(saying(status), _prepare(saying(status)))
    assert refused.value.members["details"] == {"reason": "page_error", "status": status}


def test_a_page_that_says_that_all_is_well_is_judged_all_the_same() -> None:
    refuse(saying(200), _prepare(saying(200)))
    refuse(page(PROSE), _prepare(page(PROSE)))
    with pytest.raises(Problem) as refused:
        refuse(saying(200, WALL), _prepare(saying(200, WALL)))
    assert refused.value.members["details"]["outcome"] == "blocked"


def test_an_empty_page_that_was_out_of_time_is_late_and_any_other_is_at_fault() -> None:
    empty = page("<title>A shop</title><div id=root></div><script>1</script>")
    for awaited, code in (
        (None, RenderErrorCode.PAGE_ERROR),
        (Awaited.NETWORK, RenderErrorCode.RENDER_TIMEOUT),
    ):
        with pytest.raises(Problem) as caught:
            refuse(empty, _prepare(empty), awaited)
        assert caught.value.members["details"]["reason"] == code
        assert caught.value.members["details"]["outcome"] == "empty"
        assert caught.value.members["details"].get("awaited") == awaited
        assert POLICY.is_final(caught.value) is (awaited is None)  # what was late is not believed


async def test_the_pace_is_a_moving_median_and_the_queue(database: Database) -> None:
    now = itertools.count(step=CACHED_SECONDS)
    hot = MemoryHot()
    pace = RenderPace(hot, database, places=2, clock=lambda: next(now))
    assert await pace.estimate() == UNKNOWN
    for took in (100, 900, 300):
        await pace.took(took)
    assert await pace.estimate() == 300
    assert (
        await RenderPace(hot, database, places=2).estimate() == 300
    )  # another process, which renders nothing
    async with database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "a@example.com")
        for number in range(5):
            payload = RenderPayload(request=RenderRequest(url=f"https://a.example/{number}"))
            await job_table.put(connection, NewJob(kind="render", tenant_id=tenant.id, payload=payload))
    assert await pace.estimate() == 900  # two rounds of two go before
    for _ in range(200):
        await pace.took(50)
    assert await pace.estimate() == 150


def test_how_long_a_failure_is_believed() -> None:
    def believes(age: float, max_age: int | None) -> bool:
        return is_believed(RenderRequest(url="https://a.example/", max_age=max_age), age)

    assert believes(REFUSED_SECONDS - 1, None)
    assert not believes(REFUSED_SECONDS, None)
    assert not believes(0.0, 0)
    assert believes(9.0, 10)
    assert not believes(10.0, 10)
    assert not believes(REFUSED_SECONDS, 10**9)


async def test_failures_are_marked_until_a_page_is_good_again_or_cleared() -> None:
    hot = MemoryHot()
    failures = RenderFailures(hot)
    mine = page_key("t", Url.parse("https://a.example/"))
    theirs = mine._replace(tenant="u")
    assert await failures.last(mine) is None
    await failures.mark(mine, FailedRender(1234.5, "job", "key"))
    assert await failures.last(mine) == FailedRender(1234.5, "job", "key")
    assert await failures.last(theirs) is None
    await failures.clear(mine)
    assert await failures.last(mine) is None
    slashed, elsewhere = (page_key("t", Url.parse(f"https://{url}")) for url in ("a.example//", "b.example"))
    for key in (mine, slashed, elsewhere):
        await failures.mark(key, FailedRender(2.0))
    await failures.clear_form("t", mine.form, 2.0)
    assert [await failures.last(key) for key in (mine, slashed, elsewhere)] == [None, None, FailedRender(2.0)]
    await failures.mark(theirs, FailedRender(1.0))
    for at, last in ((1.0, None), (3.0, None), (3.1, FailedRender(3.1))):
        await failures.mark(mine, FailedRender(at))
        await failures.clear_tenant("t", 3.0)
        assert await failures.last(mine) == last
    assert await failures.last(theirs) == FailedRender(1.0)
    await hot.put(f"render:failed:{mine.name}", b"1234.5", 60.0)  # as it once was written
    assert await failures.last(mine) is None
