# ruff: noqa: S608 - only constants are put into these statements
"""The statements on a leased job in raw SQL.

All but `cancel` require the token of the lease, before the lease runs out.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from gossamer.state.db.single import Executor, Rows, run
from gossamer.state.jobs.job_statements import (
    CHANNEL,
    COLUMNS,
    ENDED_P,
    HEARD,
    LATEST_P,
    LATEST_S,
    LISTENS_S,
    NOTE_P,
    NOTED,
    TIME_P,
    TIME_S,
    as_json_rows,
    at,
    columns,
    condense,
    note,
    note_ended,
)

# A job is found by its id; the sum keeps the databases from going through all that is leased instead.
_HELD: Final = "jobs.lease_token = given.token AND jobs.locked_until + 0 >"
# A job may be given back late: as long as the token is the same, no other worker has had it.
_HELD_OR_BACK: Final = (
    "jobs.lease_token = given.token AND (jobs.locked_until + 0 > {now} OR given.given_back = 1)"
)

# Settle: the work has ended. A job that would go back to the queue and was to be canceled is canceled.

_SETTLE: Final = """
UPDATE jobs SET
    status = CASE WHEN given.status = 'queued' AND cancel_requested THEN 'canceled' ELSE given.status END,
    attempt = attempt - given.given_back,
    run_at = CASE WHEN given.delay > 0 THEN {now} + given.delay ELSE run_at END,
    locked_until = CASE WHEN given.status = 'queued' AND NOT cancel_requested AND given.delay > 0
        THEN {now} + given.delay END,
    finished_at = CASE WHEN given.status <> 'queued' OR cancel_requested THEN {latest} END,
    progress_pct = CASE WHEN given.status = 'done' THEN 100 ELSE progress_pct END,
    result_json = given.result_json, last_error = given.last_error,
    locked_by = NULL, lease_token = NULL, event_seq = event_seq + 1"""
_RESULT, _ERROR = 5, 6
_SETTLE_P: Final = f"""
WITH given AS (
    SELECT job_id, COALESCE(token, $3[1]) AS token, COALESCE(status, $4[1]) AS status,
        COALESCE(delay, $5[1]) AS delay, COALESCE(given_back, $6[1]) AS given_back, result_json, last_error
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::int[], $7::text[], $8::text[])
    AS given(job_id, token, status, delay, given_back, result_json, last_error)
), changed AS (
    {_SETTLE.format(now=TIME_P, latest=LATEST_P)}
    FROM given WHERE jobs.job_id = given.job_id AND {_HELD_OR_BACK.format(now=TIME_P)}
    RETURNING {NOTED}
), noted AS ({NOTE_P}), ended AS ({ENDED_P}), waiting AS (
    SELECT kind, pg_notify('{CHANNEL}', kind) AS told FROM changed WHERE status = 'queued' GROUP BY kind
)
SELECT job_id, changed.kind, status, told FROM changed LEFT JOIN waiting USING (kind)"""
_SETTLE_S: Final = f"""
{_SETTLE.format(now=TIME_S, latest=LATEST_S)}
FROM (
    SELECT {at(0)} AS job_id, {at(1)} AS token, {at(2)} AS status, {at(3)} AS delay,
        {at(4)} AS given_back, {at(5)} AS result_json, {at(6)} AS last_error FROM json_each(?2)
) AS given WHERE jobs.job_id = given.job_id AND {_HELD_OR_BACK.format(now=TIME_S)}
RETURNING job_id, kind, status, {HEARD}"""


async def settle(executor: Executor, given: Iterable[tuple[Any, ...]], now: int | None) -> Rows:
    """Id, kind and new status of those that were still held."""
    # Always in the same order, so that no two transactions wait for each other.
    in_order = sorted(given, key=lambda row: row[0])
    if executor.dialect.name == "postgresql":
        return await run(executor, _SETTLE_P, now, *condense(in_order, nullable=(_RESULT, _ERROR)))
    rows = await run(executor, _SETTLE_S, now, as_json_rows(in_order))
    await note(executor, rows, now)
    await note_ended(executor, rows)
    return rows


_EXTEND_P: Final = f"""
UPDATE jobs SET locked_until = {TIME_P} + $2::bigint
FROM unnest($3::text[], $4::text[]) AS given(job_id, token)
WHERE jobs.job_id = given.job_id AND {_HELD} {TIME_P} RETURNING jobs.job_id, cancel_requested"""
_EXTEND_S: Final = f"""
UPDATE jobs SET locked_until = {TIME_S} + ?2
FROM (SELECT {at(0)} AS job_id, {at(1)} AS token FROM json_each(?3)) AS given
WHERE jobs.job_id = given.job_id AND {_HELD} {TIME_S} RETURNING job_id, cancel_requested"""


async def extend(
    executor: Executor, held: Iterable[tuple[str, str]], milliseconds: int, now: int | None
) -> Rows:
    """Id of those that were still held, and whether they are to be canceled."""
    in_order = sorted(held)
    if executor.dialect.name == "postgresql":
        return await run(executor, _EXTEND_P, now, milliseconds, *columns(in_order))
    return await run(executor, _EXTEND_S, now, milliseconds, as_json_rows(in_order))


_EMIT: Final = """
UPDATE jobs SET event_seq = event_seq + {count}, progress_pct = COALESCE({progress}, progress_pct)
WHERE job_id = {job} AND lease_token = {lease} AND locked_until > {now}
RETURNING job_id, event_seq, cancel_requested"""
_EMIT_P: Final = f"""
WITH held AS (
    {_EMIT.format(now=TIME_P, job="$2", lease="$3", count="$4::int", progress="$5::smallint")}
), noted AS (
    INSERT INTO job_events (job_id, seq, event_type, message, data_json, progress_pct, created_at)
    SELECT job_id, event_seq - $4::int + number, event_type, message, data_json, progress_pct, {TIME_P}
    FROM held CROSS JOIN unnest($6::text[], $7::text[], $8::text[], $9::smallint[]) WITH ORDINALITY
        AS given(event_type, message, data_json, progress_pct, number)
)
SELECT event_seq, cancel_requested FROM held"""
_EMIT_S: Final = _EMIT.format(now=TIME_S, job="?2", lease="?3", count="?4", progress="?5")
_EMITTED_S: Final = f"""
INSERT INTO job_events (job_id, seq, event_type, message, data_json, progress_pct, created_at)
SELECT ?2, ?3 + key, {at(0)}, {at(1)}, {at(2)}, {at(3)}, {TIME_S} FROM json_each(?4)"""


async def emit(
    executor: Executor, job_id: str, token: str, events: Sequence[tuple[Any, ...]], now: int | None
) -> Any:
    """The number of the last event and whether the job is to be canceled; None when it is not held."""
    progress = next((event[3] for event in reversed(events) if event[3] is not None), None)
    held = (now, job_id, token, len(events), progress)
    if executor.dialect.name == "postgresql":
        rows = await run(executor, _EMIT_P, *held, *columns(events))
        return rows[0] if rows else None
    rows = await run(executor, _EMIT_S, *held)
    if not rows:
        return None
    first = rows[0].event_seq - len(events) + 1
    await run(executor, _EMITTED_S, now, job_id, first, as_json_rows(events))
    return rows[0]


_HOLD: Final = "SELECT 1 FROM jobs WHERE job_id = {job} AND lease_token = {lease} AND locked_until > {now}"
_HOLD_P: Final = _HOLD.format(job="$2", lease="$3", now=TIME_P) + " FOR UPDATE"
_HOLD_S: Final = _HOLD.format(job="?2", lease="?3", now=TIME_S)


async def hold(executor: Executor, job_id: str, token: str, now: int | None) -> bool:
    """Whether the lease is held; if so, it stays held until the transaction ends."""
    statement = _HOLD_P if executor.dialect.name == "postgresql" else _HOLD_S
    return bool(await run(executor, statement, now, job_id, token))


# Cancel. The key is free at once: the next request with this key needs a new job.

_CANCEL: Final = f"""
UPDATE jobs SET cancel_requested = true, idempotency_key = NULL,
    status = CASE WHEN status = 'queued' THEN 'canceled' ELSE status END,
    finished_at = CASE WHEN status = 'queued' THEN {{latest}} END,
    locked_until = CASE WHEN status = 'running' THEN locked_until END,
    event_seq = event_seq + CASE WHEN status = 'queued' THEN 1 ELSE 0 END
WHERE job_id = {{job}} AND status IN ('queued', 'running') RETURNING {COLUMNS}"""
_CANCEL_P: Final = f"""
WITH changed AS ({_CANCEL.format(job="$2", latest=f"GREATEST({TIME_P}, queued_at, started_at)")}),
ended AS ({ENDED_P}) SELECT {COLUMNS} FROM changed"""
_CANCEL_S: Final = _CANCEL.format(job="?2", latest=f"max({TIME_S}, queued_at, COALESCE(started_at, 0))")
_CANCELED_S: Final = f"""
INSERT INTO ended_work (work_id, kind) SELECT job_id, 'job' FROM jobs
WHERE job_id = ?1 AND finished_at IS NOT NULL AND {LISTENS_S} ON CONFLICT DO NOTHING"""


async def cancel(executor: Executor, job_id: str, now: int | None) -> Any:
    """The job as it now is; None when it is over already, or does not exist."""
    statement = _CANCEL_P if executor.dialect.name == "postgresql" else _CANCEL_S
    rows = await run(executor, statement, now, job_id)
    if rows and executor.dialect.name == "sqlite":
        await run(executor, _CANCELED_S, job_id)
    return rows[0] if rows else None
