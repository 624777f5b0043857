"""A dashboard for Grafana: what is wrong, and the numbers that tell why."""

import json
from typing import Any, Final, NamedTuple

from gossamer.flows.alerts.rules import RULES


class Panel(NamedTuple):
    title: str
    unit: str  # as Grafana calls it
    queries: dict[str, str]  # legend → expression


_P95: Final = "histogram_quantile(0.95, sum by (le{}) (rate({}_bucket[5m])))"

PANELS: Final = (
    Panel(
        "Requests a second", "reqps", {"{{status}}": "sum by (status) (rate(gossamer_requests_total[5m]))"}
    ),
    Panel(
        "Requests, 95th percentile",
        "s",
        {"{{endpoint}}": _P95.format(", endpoint", "gossamer_request_duration_seconds")},
    ),
    Panel("Problems a second", "reqps", {"{{code}}": "sum by (code) (rate(gossamer_errors_total[5m]))"}),
    Panel(
        "Cache of answers",
        "reqps",
        {"{{endpoint}} {{result}}": "sum by (endpoint, result) (rate(gossamer_answer_cache_total[5m]))"},
    ),
    Panel(
        "Fetches by outcome", "reqps", {"{{outcome}}": "sum by (outcome) (rate(gossamer_fetches_total[5m]))"}
    ),
    Panel("Jobs", "short", {"{{kind}} {{status}}": "max by (kind, status) (gossamer_queue_jobs)"}),
    Panel(
        "Oldest waiting job",
        "s",
        {"{{kind}}": 'max by (kind) (gossamer_queue_oldest_seconds{status="queued"})'},
    ),
    Panel("Jobs, 95th percentile", "s", {"{{kind}}": _P95.format(", kind", "gossamer_job_duration_seconds")}),
    Panel(
        "Visits of browsers, 95th percentile",
        "s",
        {"{{outcome}}": _P95.format(", outcome", "gossamer_visit_duration_seconds")},
    ),
    Panel("Crawled pages a second", "short", {"pages": "max(gossamer_crawl_pages_per_second)"}),
    Panel("Frontier", "short", {"URLs": "max(gossamer_crawl_frontier_urls)"}),
    Panel("Index lag", "s", {"oldest batch": "max(gossamer_index_oldest_seconds)"}),
    Panel(
        "Wait for the database, 95th percentile",
        "s",
        {"{{pool}}": _P95.format(", pool", "gossamer_database_wait_seconds")},
    ),
    Panel(
        "Event loop lag, 95th percentile",
        "s",
        {"{{instance}}": _P95.format(", instance", "gossamer_event_loop_lag_seconds")},
    ),
    Panel("Disk left", "bytes", {"{{instance}} {{folder}}": "gossamer_disk_free_bytes"}),
    Panel("Memory", "bytes", {"{{instance}} {{child}}": "process_resident_memory_bytes"}),
    Panel("Open descriptors", "short", {"{{instance}} {{child}}": "process_open_fds"}),
    Panel(
        "Breakers that are not closed",
        "short",
        {"{{breaker}}": "max by (breaker) (gossamer_breaker_state) > 0"},
    ),
    Panel(
        "Webhooks a second",
        "reqps",
        {"{{outcome}}": "sum by (outcome) (rate(gossamer_webhook_attempts_total[5m]))"},
    ),
    Panel("Failing", "short", {"{{what}}": "max by (what) (gossamer_failing)"}),
    Panel("Waiting for repair", "short", {"{{what}}": "max by (what) (gossamer_repairs_waiting)"}),
    Panel(
        "Restarts in an hour",
        "short",
        {
            "task {{task}}": "sum by (task) (increase(gossamer_task_restarts_total[1h]))",
            "child {{kind}}": "sum by (kind) (increase(gossamer_child_restarts_total[1h]))",
        },
    ),
)
_COLUMNS: Final = 3
_WIDTH: Final = 8
_HEIGHT: Final = 7
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}


def write_dashboard() -> str:
    names = "|".join(rule.name for rule in RULES)
    raised = Panel("Alerts", "short", {"{{rule}}": f'max by (rule) (gossamer_alerts{{rule=~"{names}"}}) > 0'})
    panels = [_panel(raised, 0, {"h": 5, "w": _WIDTH * _COLUMNS, "x": 0, "y": 0})]
    for place, panel in enumerate(PANELS):
        row, column = divmod(place, _COLUMNS)
        grid = {"h": _HEIGHT, "w": _WIDTH, "x": column * _WIDTH, "y": 5 + row * _HEIGHT}
        panels.append(_panel(panel, place + 1, grid))
    dashboard = {
        "title": "Gossamer",
        "uid": "gossamer",
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}]
        },
        "panels": panels,
    }
    return json.dumps(dashboard, indent=2) + "\n"


def _panel(panel: Panel, number: int, grid: dict[str, int]) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + place), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
        for place, (legend, expression) in enumerate(panel.queries.items())
    ]
    return {
        "id": number + 1,
        "title": panel.title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": grid,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }
