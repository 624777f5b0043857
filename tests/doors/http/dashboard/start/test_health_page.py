"""Health in plain words: each service, what it is for, and what to do if it is down."""

from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.renders import OpenRendering, open_rendering
from tests.doors.services import Visit

from gossamer.doors.http.api.admin.operations import ServiceHealth, Services
from gossamer.doors.http.dashboard.start import services
from gossamer.flows.upkeep.health import Status

__all__ = ["open_rendering"]


async def test_every_service_is_shown_with_what_it_is_for(visit: Visit) -> None:
    client = await sign_in(visit, "user")

    page = await client.get("/app/health")

    assert page.status_code == 200, page.text
    report = (await client.get("/health")).json()
    for name in report["services"]:
        assert services.words_of(name).about in page.text
    assert report["version"] in page.text
    for path in ("/metrics", "/docs", "/health"):
        assert f'href="{path}"' in page.text
    assert "No worker is running." in page.text


async def test_a_service_that_is_down_comes_with_its_reason_and_a_remedy(visit: Visit) -> None:
    client = await sign_in(visit, "user")
    queued = await client.post("/api/render", json={"url": "https://site.example/"})
    assert queued.status_code == 202

    page = await client.get("/app/health")

    assert "no worker is running for render" in page.text
    assert "Start a worker with <code>gossamer worker</code>" in page.text


async def test_workers_and_the_layers_of_the_fence_are_shown(open_rendering: OpenRendering) -> None:
    async with open_rendering() as service:
        client = await sign_in(service.visit, "user")

        page = await client.get("/app/health")

    assert "Layers of the fence" in page.text
    assert "The browser&#39;s only way out." in page.text


def test_a_missing_layer_has_its_reason_and_its_remedy() -> None:
    details = {"layers": ["proxy", "sandbox"], "missingLayers": {"netns": "not permitted"}, "fence": "prefer"}
    browsers = ServiceHealth(Status.DEGRADED, 3, "not in force: netns", details)

    layers = services.fence(Services(browser_rendering=browsers))

    assert layers is not None
    assert [(layer.name, layer.missing) for layer in layers] == [
        ("proxy", None),
        ("netns", "not permitted"),
        ("sandbox", None),
    ]
    assert "namespaces" in layers[1].remedy


def test_a_process_without_a_browser_does_not_know_a_fence() -> None:
    browsers = ServiceHealth(Status.HEALTHY, 3, None, {"workers": 2})

    assert services.fence(Services(browser_rendering=browsers)) is None
    assert services.fence(Services()) is None


def test_a_member_of_a_group_is_named() -> None:
    row = services.rows(Services(facilitators={"cdp": ServiceHealth(Status.UNHEALTHY, 9, "no answer")}))[0]

    assert row.name == "facilitators.cdp"
    assert services.describe(row.name, row.health.status) == "The facilitator cdp does not answer."


def test_health_is_summed_up_in_sentences() -> None:
    well = {"database": Status.HEALTHY, "cache": Status.HEALTHY}

    assert services.summarise(well) == "Everything works."
    assert services.summarise({**well, "database": Status.UNHEALTHY}) == "The database does not answer."
    both = services.summarise({"cache": Status.DEGRADED, "workers": Status.UNHEALTHY})
    assert both == (
        "The hot store works with something missing. Jobs wait, and no worker runs that could do them."
    )
