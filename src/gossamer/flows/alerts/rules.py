"""The rules of alerts, in one table: when, how bad, for how long, and what to do.

Each rule is written twice: as a condition on a `Situation`, for the evaluator, and as an expression on our
metrics, for Prometheus. A rule with only one of them can be seen only from there.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Self

from msgspec import Struct

from gossamer.flows.alerts.situation import Situation
from gossamer.flows.upkeep.health import Status
from gossamer.settings.settings import Settings
from gossamer.state.operations.alert_rows import AlertSeverity

MINUTE: Final = 60.0
DAY: Final = 86_400
MIN_ANSWERS: Final = 50  # fewer say nothing about a share
MIN_FRONTIER: Final = 1_000  # URLs; a smaller frontier may grow as it likes
GROWTH: Final = 1.1  # in a minute
SERVER_ERRORS: Final = 0.05  # share of requests
INDEX_SECONDS: Final = 900.0
WORKERS: Final = "workers"  # the service that knows whether anybody works


class Thresholds(Struct, frozen=True):
    """What an operator may choose."""

    error_share: float = 0.2
    queue_seconds: float = 900.0
    disk_share: float = 0.1
    certificate_days: int = 14
    backup_seconds: float = 0.0  # 0: none is expected

    @classmethod
    def of(cls, settings: Settings) -> Self:
        return cls(
            error_share=settings.alert_error_percent / 100,
            queue_seconds=settings.alert_queue_minutes * 60.0,
            disk_share=settings.alert_disk_percent / 100,
            certificate_days=settings.alert_certificate_days,
            backup_seconds=settings.backup_max_age,
        )


class Trouble(NamedTuple):
    """Something that a rule has found wrong."""

    subject: str
    detail: str


FindTroubles = Callable[[Situation, Thresholds], Iterable[Trouble]]


class Rule(Struct, frozen=True):
    name: str
    severity: AlertSeverity
    title: str  # with the subject in it
    hint: str
    patience: float  # seconds that it must last
    condition: FindTroubles | None
    expression: Callable[[Thresholds], str]  # empty: not for Prometheus
    label: str = ""  # of the expression's series, that names the subject

    def describe(self, subject: str) -> str:
        return self.title.format(subject=subject)


def _find_down(situation: Situation, _: Thresholds) -> Iterator[Trouble]:
    return _services_in(situation, Status.UNHEALTHY)


def _find_degraded(situation: Situation, _: Thresholds) -> Iterator[Trouble]:
    return _services_in(situation, Status.DEGRADED)


def _services_in(situation: Situation, status: Status) -> Iterator[Trouble]:
    for name, result in situation.services.items():
        if result.status is status and name != WORKERS:
            yield Trouble(name, result.reason or "")


def _find_idle(situation: Situation, _: Thresholds) -> Iterator[Trouble]:
    found = situation.services.get(WORKERS)
    if found is not None and found.status is not Status.HEALTHY:
        yield Trouble(WORKERS, found.reason or "")


def _find_errors(situation: Situation, thresholds: Thresholds) -> Iterator[Trouble]:
    stored = situation.stored
    if stored.answers >= MIN_ANSWERS and stored.bad_answers / stored.answers > thresholds.error_share:
        share = stored.bad_answers / stored.answers
        yield Trouble("crawls", f"{share:.0%} of {stored.answers} answers in five minutes were 4xx or 5xx")


def _find_growth(situation: Situation, _: Thresholds) -> Iterator[Trouble]:
    size, before = situation.stored.frontier, situation.frontier_before
    if before is not None and size >= MIN_FRONTIER and size > before * GROWTH:
        yield Trouble("frontier", f"it grew from {before} to {size} URLs in a minute")


def _find_waiting(situation: Situation, thresholds: Thresholds) -> Iterator[Trouble]:
    for kind, seconds in situation.stored.waiting.items():
        if seconds > thresholds.queue_seconds:
            yield Trouble(kind, f"the oldest job has waited for {seconds / 60:.0f} minutes")


def _find_silent(situation: Situation, _: Thresholds) -> Iterator[Trouble]:
    for beat in situation.stored.silent:
        minutes = (situation.now - beat.seen_at / 1000) / 60
        yield Trouble(beat.name, f"no heartbeat for {minutes:.0f} minutes; it did {', '.join(beat.kinds)}")


def _find_full(situation: Situation, thresholds: Thresholds) -> Iterator[Trouble]:
    for disk in situation.disks:
        if disk.free < disk.size * thresholds.disk_share:
            yield Trouble(disk.folder, f"{disk.free / 1e9:.1f} of {disk.size / 1e9:.1f} GB are free")


def _find_ending(situation: Situation, thresholds: Thresholds) -> Iterator[Trouble]:
    for one in situation.certificates:
        days = (one.expires - situation.now) / DAY
        if one.failure:
            yield Trouble(one.host, f"it is not valid: {one.failure}")
        elif days < thresholds.certificate_days:
            yield Trouble(one.host, f"it ends in {max(0, int(days))} days")


def _find_old_backup(situation: Situation, thresholds: Thresholds) -> Iterator[Trouble]:
    last = situation.stored.last_backup
    if not thresholds.backup_seconds:
        return
    if last is None:
        yield Trouble("backup", "there is none")
    elif situation.now - last > thresholds.backup_seconds:
        yield Trouble("backup", f"the last one is {(situation.now - last) / 3600:.0f} hours old")


def _find_lag(situation: Situation, _: Thresholds) -> Iterator[Trouble]:
    lag = situation.stored.index
    if lag.oldest_seconds > INDEX_SECONDS:
        minutes = lag.oldest_seconds / 60
        yield Trouble("index", f"{lag.batches} batches wait, the oldest for {minutes:.0f} minutes")


def _find_failing_schedules(situation: Situation, _: Thresholds) -> Iterator[Trouble]:
    count = situation.stored.failing_schedules
    if count:
        yield Trouble("schedules", f"{count} could not start their last runs, three or more in a row")


def _find_failing_webhooks(situation: Situation, _: Thresholds) -> Iterator[Trouble]:
    count = situation.stored.failing_webhooks
    if count:
        yield Trouble("webhooks", f"{count} have failed for more than an hour")


_ANSWERS: Final = "sum(increase(gossamer_crawl_answers_total{}[5m]))"
_BAD: Final = '{status=~"4xx|5xx"}'

RULES: Final = (
    Rule(
        "service_down",
        AlertSeverity.CRITICAL,
        "{subject} is not working",
        "`GET /health` shows each service; the log says what happened.",
        MINUTE,
        _find_down,
        lambda _: f'gossamer_service_up{{service!="{WORKERS}"}} == 0',
        "service",
    ),
    Rule(
        "service_degraded",
        AlertSeverity.WARNING,
        "{subject} works with something missing",
        "`GET /health` shows each service; the log says what happened.",
        MINUTE,
        _find_degraded,
        lambda _: f'gossamer_service_degraded{{service!="{WORKERS}"}} == 1',
        "service",
    ),
    Rule(
        "work_waits",
        AlertSeverity.CRITICAL,
        "Nobody works on what is waiting",
        "Start `gossamer worker` for the kinds that are named, or look at the log of those that run.",
        MINUTE,
        _find_idle,
        lambda _: (
            f'gossamer_service_up{{service="{WORKERS}"}} == 0 '
            f'or gossamer_service_degraded{{service="{WORKERS}"}} == 1'
        ),
    ),
    Rule(
        "error_rate",
        AlertSeverity.WARNING,
        "Crawls get many errors",
        "`GET /api/domains` shows which hosts fail. Slow the crawl down, or pause it.",
        5 * MINUTE,
        _find_errors,
        lambda chosen: (
            f"{_ANSWERS.format(_BAD)} / {_ANSWERS.format('')} > {chosen.error_share:g} "
            f"and {_ANSWERS.format('')} >= {MIN_ANSWERS}"
        ),
    ),
    Rule(
        "server_errors",
        AlertSeverity.CRITICAL,
        "The API answers with errors",
        "The log has a line for every answer of 500 and above; its code says which service is away.",
        5 * MINUTE,
        None,
        lambda _: (
            'sum(rate(gossamer_requests_total{status=~"5.."}[5m])) '
            f"/ sum(rate(gossamer_requests_total[5m])) > {SERVER_ERRORS:g}"
        ),
    ),
    Rule(
        "unseen",
        AlertSeverity.CRITICAL,
        "No process of Gossamer is scraped",
        "It is down, or Prometheus cannot reach it: look at its targets, and at the token.",
        5 * MINUTE,
        None,
        lambda _: "absent(gossamer_build_info)",
    ),
    Rule(
        "frontier_backlog",
        AlertSeverity.WARNING,
        "The frontier grows faster than it is crawled",
        "Look at the crawl's scope: a site may make up URLs without end. Else start more workers.",
        5 * MINUTE,
        _find_growth,
        lambda _: (
            f"max(gossamer_crawl_frontier_urls) > {GROWTH:g} * max(gossamer_crawl_frontier_urls offset 1m) "
            f"and max(gossamer_crawl_frontier_urls) >= {MIN_FRONTIER}"
        ),
    ),
    Rule(
        "queue_backlog",
        AlertSeverity.WARNING,
        "Jobs of kind {subject} wait for long",
        "Start more workers for this kind, or find out in the log why jobs take so long.",
        MINUTE,
        _find_waiting,
        lambda chosen: (
            'max by (kind) (gossamer_queue_oldest_seconds{status="queued"}) '
            f"> {chosen.queue_seconds:g}"
        ),
        "kind",
    ),
    Rule(
        "worker_silent",
        AlertSeverity.CRITICAL,
        "A worker is silent: {subject}",
        "It was killed, or its machine or network is away. Its jobs go on elsewhere. Start it again.",
        0.0,
        _find_silent,
        lambda _: "max(gossamer_silent_workers) > 0",
    ),
    Rule(
        "disk_low",
        AlertSeverity.CRITICAL,
        "The disk of the {subject} folder is nearly full",
        "Delete crawls or cached pages, or make the disk larger. A full disk stops every write.",
        MINUTE,
        _find_full,
        lambda chosen: (
            "gossamer_disk_free_bytes / gossamer_disk_size_bytes < "
            f"{chosen.disk_share:g}"
        ),
        "folder",
    ),
    Rule(
        "certificate",
        AlertSeverity.CRITICAL,
        "The certificate of {subject} is not valid, or ends soon",
        "Renew it. If it is a facilitator's, payments fail until its operator does.",
        0.0,
        _find_ending,
        lambda chosen: f"gossamer_certificate_seconds < {chosen.certificate_days * DAY}",
        "host",
    ),
    Rule(
        "backup_old",
        AlertSeverity.CRITICAL,
        "The last backup is too old",
        "Look at the log of the backup, and run it by hand.",
        0.0,
        _find_old_backup,
        lambda chosen: (
            f"max(gossamer_backup_age_seconds) > {chosen.backup_seconds:g}" if chosen.backup_seconds else ""
        ),
    ),
    Rule(
        "index_behind",
        AlertSeverity.WARNING,
        "Crawled pages are not in the search index",
        "Start a worker with the kind `index`, or look at its log.",
        5 * MINUTE,
        _find_lag,
        lambda _: f"max(gossamer_index_oldest_seconds) > {INDEX_SECONDS:g}",
    ),
    Rule(
        "schedules_failing",
        AlertSeverity.WARNING,
        "Schedules cannot start their work",
        "`GET /api/activity?action=schedule.failing` names them; their history says why.",
        0.0,
        _find_failing_schedules,
        lambda _: 'max(gossamer_failing{what="schedules"}) > 0',
    ),
    Rule(
        "webhooks_failing",
        AlertSeverity.WARNING,
        "Receivers of webhooks do not answer",
        "The log of deliveries says why. If it is all of them, look at the way out of this network.",
        0.0,
        _find_failing_webhooks,
        lambda _: 'max(gossamer_failing{what="webhooks"}) > 0',
    ),
    Rule(
        "webhooks_given_up",
        AlertSeverity.WARNING,
        "Events were given up",
        "Nobody has heard of them. `gossamer webhooks retry` sends them again.",
        0.0,
        None,
        lambda _: 'sum(increase(gossamer_webhook_attempts_total{outcome="given_up"}[1h])) > 0',
    ),
)  # fmt: skip
BY_NAME: Final = {rule.name: rule for rule in RULES}
