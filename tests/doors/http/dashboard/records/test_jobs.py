"""The pages of jobs, with real jobs in a real queue."""

import httpx
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit

from gossamer import problems
from gossamer.problems import Problem
from gossamer.state.jobs.job import Job, JobError, NewJob
from gossamer.state.jobs.job_events import JobEventType, NewEvent

HOSTILE = "<script>alert(1)</script>\"'"


async def tenant_of(client: httpx.AsyncClient) -> str:
    tenant: str = (await client.get("/api/me")).json()["tenantId"]
    return tenant


async def put(visit: Visit, client: httpx.AsyncClient, kind: str = "render", **payload: object) -> Job:
    return await visit.service.jobs.put(NewJob(kind=kind, tenant_id=await tenant_of(client), payload=payload))


async def fail(visit: Visit, kind: str, problem: Problem) -> None:
    jobs = visit.service.jobs
    (lease,) = await jobs.lease({kind: 1}, worker="test")
    await jobs.emit(lease, [NewEvent(JobEventType.STEP_STARTED, f"opening {HOSTILE}", progress_pct=40)])
    await jobs.fail(lease, JobError.of(problem), retry_in=None)


async def test_an_empty_list_says_where_jobs_come_from(visit: Visit) -> None:
    client = await sign_in(visit, "user")

    shown = await client.get("/app/jobs")

    assert shown.status_code == 200
    assert "No jobs yet" in shown.text


async def test_the_list_shows_kind_subject_state_and_error_in_words(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    await put(visit, client, request={"url": f"https://a.example/{HOSTILE}"})
    await fail(visit, "render", Problem(problems.RENDER_FAILED, f"It broke: {HOSTILE}"))

    shown = (await client.get("/app/jobs")).text

    assert "Render</a>" in shown
    assert "https:/<wbr>/<wbr>a.<wbr>example" in shown
    assert "is-failed" in shown
    assert problems.RENDER_FAILED.title in shown
    assert "It broke" in shown
    assert "<script>alert" not in shown


async def test_the_list_filters_and_keeps_its_filters_over_pages(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    for number in range(51):
        await put(visit, client, request={"url": f"https://a.example/{number}"})
    await put(visit, client, "warm", request={"sitemap": "https://a.example/sitemap.xml"})

    first = (await client.get("/app/jobs?kind=render&status=queued")).text
    following = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    second = (await client.get(following.replace("&amp;", "&"))).text

    assert first.count("Render</a>") == 50
    assert second.count("Render</a>") == 1
    assert '<option value="queued" selected>' in second
    assert "No job matches" in (await client.get("/app/jobs?kind=batch")).text
    assert (await client.get("/app/jobs?status=nonsense")).status_code == 400


async def test_one_job_shows_timeline_problem_payload_and_what_to_do(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    job = await put(visit, client, request={"url": "https://a.example/", "note": HOSTILE})
    refused = Problem(problems.INVALID_URL, "It is private.", details={"reason": "private_address"})
    await fail(visit, "render", refused)

    shown = (await client.get(f"/app/jobs/{job.job_id}")).text

    assert "<strong>queued</strong>" in shown
    assert "<strong>running</strong>" in shown
    assert "opening &lt;script&gt;" in shown
    assert "<code>private_address</code>" in shown
    assert "Only public addresses can be rendered" in shown
    assert '<span class="key">' in shown
    assert "<script>alert" not in shown
    assert "data-job-events" not in shown  # it is over


async def test_a_list_with_unfinished_jobs_is_read_again(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    await put(visit, client, request={"url": "https://a.example/"})
    assert "data-refresh" in (await client.get("/app/jobs")).text
    await fail(visit, "render", Problem(problems.INTERNAL_ERROR, "It broke."))
    assert "data-refresh" not in (await client.get("/app/jobs")).text


async def test_a_queued_job_is_followed_and_can_be_canceled(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    job = await put(visit, client, "batch")
    page = (await client.get(f"/app/jobs/{job.job_id}")).text
    assert f'data-job-events="/api/jobs/{job.job_id}/events?after=1"' in page
    assert f'href="/app/batches/{job.job_id}"' in page

    sent = await client.post(f"/app/jobs/{job.job_id}/cancel", data={"once": "a"})
    assert sent.status_code == 303
    assert "The job is canceled." in (await client.get(sent.headers["location"])).text

    again = await client.post(f"/app/jobs/{job.job_id}/cancel", data={"once": "b"})
    assert again.status_code == 422
    assert "canceled already" in again.text


async def test_a_job_of_another_tenant_is_not_there_and_an_admin_sees_it(visit: Visit) -> None:
    owner, other, admin = [await sign_in(visit, role) for role in ("user", "user", "admin")]
    job = await put(visit, owner, request={"url": "https://a.example/"})

    assert (await other.get(f"/app/jobs/{job.job_id}")).status_code == 404
    assert (await other.post(f"/app/jobs/{job.job_id}/cancel", data={"once": "c"})).status_code == 404
    assert job.job_id not in (await other.get("/app/jobs")).text
    assert (await admin.get(f"/app/jobs/{job.job_id}")).status_code == 200
