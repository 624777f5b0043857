from collections.abc import Iterable

from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

from gossamer.observe.metrics import Metrics


def samples(families: Iterable[Metric]) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def exposed(metrics: Metrics) -> dict[tuple[str, ...], float]:
    return samples(parse_prometheus(metrics.exposition.text()[0].decode()))


def test_requests_are_counted_and_measured() -> None:
    metrics = Metrics("1.2.3")
    metrics.request("/fetch/basic", "POST", 200, 0.004)
    metrics.request("/fetch/basic", "POST", 200, 7.0)
    metrics.request("/fetch/basic", "POST", 429, 0.001)
    seen = exposed(metrics)
    assert seen["gossamer_requests_total", "endpoint=/fetch/basic", "method=POST", "status=200"] == 2
    assert seen["gossamer_requests_total", "endpoint=/fetch/basic", "method=POST", "status=429"] == 1
    assert seen["gossamer_request_duration_seconds_count", "endpoint=/fetch/basic"] == 3
    assert seen["gossamer_request_duration_seconds_bucket", "endpoint=/fetch/basic", "le=0.005"] == 2
    assert seen["gossamer_request_duration_seconds_bucket", "endpoint=/fetch/basic", "le=+Inf"] == 3


def test_a_caller_cannot_make_up_labels() -> None:
    metrics = Metrics("1.2.3")
    for number in range(50):
        metrics.request("/x", f"METHOD{number}", 405, 0.001)
    seen = exposed(metrics)
    assert seen["gossamer_requests_total", "endpoint=/x", "method=OTHER", "status=405"] == 50
    assert sum(name[0] == "gossamer_requests_total" for name in seen) == 1


def test_everything_else_is_counted() -> None:
    metrics = Metrics("1.2.3")
    metrics.count_refusal("anonymous_post")
    metrics.count_replay()
    metrics.error("NOT_FOUND")
    metrics.service("database", up=True)
    metrics.service("cache", up=True)
    metrics.service("cache", up=False)
    seen = exposed(metrics)
    assert seen["gossamer_rate_limited_total", "policy=anonymous_post"] == 1
    assert seen[("gossamer_idempotent_replays_total",)] == 1
    assert seen["gossamer_errors_total", "code=NOT_FOUND"] == 1
    assert seen["gossamer_service_up", "service=database"] == 1
    assert seen["gossamer_service_up", "service=cache"] == 0
    assert any(name[0] == "gossamer_build_info" and "version=1.2.3" in name for name in seen)
    names = {name[0] for name in seen}
    assert {"python_info", "process_cpu_seconds_total", "python_gc_collections_total"} <= names
    assert not any(name.endswith("_created") for name in names)


def test_the_format_is_the_one_asked_for() -> None:
    metrics = Metrics("1.2.3")
    metrics.request("/a", "GET", 200, 0.1)
    body, content_type = metrics.exposition.text(
        "application/openmetrics-text; version=1.0.0,text/plain;q=0.5"
    )
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
    seen = samples(parse_openmetrics(body.decode()))  # type: ignore[no-untyped-call]
    assert seen["gossamer_requests_total", "endpoint=/a", "method=GET", "status=200"] == 1
    for accept in ("", "*/*", "text/html", "application/openmetrics", "nonsense;version=?"):
        assert metrics.exposition.text(accept)[1].startswith("text/plain; version=0.0.4")


def test_two_registries_are_apart() -> None:
    first, second = Metrics("1"), Metrics("2")
    first.count_replay()
    assert exposed(second)[("gossamer_idempotent_replays_total",)] == 0


def test_children_are_shown_beside_their_parent() -> None:
    parent, child = Metrics("1"), Metrics("1")
    parent.fetch("2xx")
    child.fetch("2xx")
    child.fetch("2xx")
    parent.exposition.adopt("crawl-1", child.exposition.snapshot())
    parent.exposition.adopt("crawl-1", b"not ours\n")
    seen = exposed(parent)
    assert seen["gossamer_fetches_total", "outcome=2xx"] == 1
    assert seen["gossamer_fetches_total", "child=crawl-1", "outcome=2xx"] == 2
    assert not any(name[0].startswith("gossamer_crawl_") and "child=crawl-1" in name for name in seen)
    body, _ = parent.exposition.text("application/openmetrics-text; version=1.0.0")
    assert body.count(b"# TYPE gossamer_fetches counter") == 1
    samples(parse_openmetrics(body.decode()))  # type: ignore[no-untyped-call]
    parent.exposition.forget("crawl-1")
    assert not any("child=crawl-1" in name for name in exposed(parent))


def test_crawl_metrics_keep_their_first_names() -> None:
    metrics = Metrics("1")
    metrics.count_crawled(3, failed=1, denied=0, size=10, statuses={"2xx": 3})
    seen = exposed(metrics)
    assert seen[("gossamer_crawl_pages_total",)] == seen[("crawler_pages_fetched_total",)] == 3
    assert seen["crawler_http_status_total", "status=2xx"] == 3
