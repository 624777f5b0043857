# ruff: noqa: S608 - only constants are put into these statements
"""The statements of the job queue in raw SQL, for PostgreSQL and SQLite side by side.

Each changes all of its rows at once and writes the events of the change in the same transaction. PostgreSQL
takes columns as arrays and does it in one statement; SQLite takes rows as JSON. The first parameter of each
is the time that a test passes in, or null for the database's own. The statements under a lease are in
`lease_statements`.
"""

from collections.abc import Container, Sequence
from typing import Any, Final

import msgspec

from gossamer.state.db.database import CLOCK
from gossamer.state.db.single import Executor, Rows, run
from gossamer.state.jobs import job
from gossamer.state.jobs.job_events import DATA, MESSAGE_P, MESSAGE_S

CHANNEL: Final = "gossamer_jobs"
COLUMNS: Final = ", ".join(job.COLUMNS)
MAX_RIPENED: Final = 1_000  # a short transaction: others wait for it
_MIN_TENANTS: Final = 4  # to visit, in case all jobs of the first are being claimed by others

_encode: Final = msgspec.json.Encoder().encode


def at(place: int) -> str:
    """An item of a row that SQLite was given as JSON."""
    return f"json_extract(value, '$[{place}]')"


TIME_P: Final = f"COALESCE($1::bigint, {CLOCK['postgresql']})"
TIME_S: Final = f"COALESCE(?1, {CLOCK['sqlite']})"

# Conditions are spelt as in the partial indexes, so that the databases see that they may use them.
_CLAIMABLE: Final = "status = 'queued' AND locked_until IS NULL"
_KEYED: Final = "idempotency_key IS NOT NULL AND status IN ('queued', 'running')"

# The event of a change follows from the row as it now is. Most changes need no event row, since the job's own
# row shows them (`job_events`): that the job was put, that it was first begun, and how it ended.
_NOTE: Final = """
INSERT INTO job_events (job_id, seq, event_type, message, data_json, progress_pct, created_at)
SELECT job_id, event_seq, 'status_changed', {message}, {data}, progress_pct,"""
_UNTOLD: Final = "event_seq > 2 AND finished_at IS NULL"
NOTED: Final = (
    "jobs.job_id, jobs.tenant_id, kind, jobs.status, attempt, jobs.last_error, progress_pct, event_seq,"
    " finished_at"
)
NOTE_P: Final = f"{_NOTE.format(message=MESSAGE_P, data=DATA)} {TIME_P} FROM changed WHERE {_UNTOLD}"
_NOTE_S: Final = f"""
{_NOTE.format(message=MESSAGE_S, data=DATA)} {TIME_S}
FROM jobs WHERE job_id IN (SELECT value FROM json_each(?2)) AND {_UNTOLD}"""

# The end of a job is published later (`state/webhooks/publishing`), if anybody of its tenant listens.
_LISTENS: Final = """
EXISTS (SELECT 1 FROM webhook_endpoints WHERE webhook_endpoints.tenant_id = {jobs}.tenant_id
    AND disabled_at IS NULL AND ended_at IS NULL)"""
LISTENS_S: Final = _LISTENS.format(jobs="jobs")
HEARD: Final = f"(finished_at IS NOT NULL AND {LISTENS_S}) AS heard"
ENDED_P: Final = f"""
INSERT INTO ended_work (work_id, kind) SELECT job_id, 'job' FROM changed
WHERE finished_at IS NOT NULL AND {_LISTENS.format(jobs="changed")} ON CONFLICT DO NOTHING"""
_ENDED_S: Final = """
INSERT INTO ended_work (work_id, kind) SELECT value, 'job' FROM json_each(?1) WHERE true
ON CONFLICT DO NOTHING"""


# Put. A tenant that does not exist is null, which the column refuses. On a key that is there already, an
# update that changes nothing, because DO NOTHING would return nothing.

_NEW: Final = """
INSERT INTO jobs (job_id, tenant_id, kind, status, priority, attempt, max_attempts, queued_at, run_at,
    locked_until, cancel_requested, idempotency_key, payload_json, progress_pct, event_seq, request_id)
SELECT job_id, (SELECT id FROM tenants WHERE id = given.tenant_id), kind, 'queued', priority, 0, max_attempts,
    now, starts, CASE WHEN starts > now THEN starts END, false, idempotency_key, payload_json, 0, 1,
    request_id
FROM given WHERE true"""
_UNLESS_THERE: Final = f"""
ON CONFLICT (tenant_id, idempotency_key) WHERE {_KEYED} DO UPDATE SET request_id = jobs.request_id"""
# PostgreSQL takes one job as it is, and many as `condense` columns.
_RUN_AT, _KEY = 5, 7
_ONE_P: Final = """
SELECT $3::text AS job_id, $4::text AS tenant_id, $5::text AS kind, $6::int AS priority,
    $7::int AS max_attempts, $8::bigint AS run_at, $9::bigint AS delay, $10::text AS idempotency_key,
    $11::text AS payload_json, $12::text AS request_id"""
_MANY_P: Final = """
SELECT job_id, COALESCE(tenant_id, $4[1]) AS tenant_id, COALESCE(kind, $5[1]) AS kind,
    COALESCE(priority, $6[1]) AS priority, COALESCE(max_attempts, $7[1]) AS max_attempts, run_at,
    COALESCE(delay, $9[1]) AS delay, idempotency_key, COALESCE(payload_json, $11[1]) AS payload_json,
    COALESCE(request_id, $12[1]) AS request_id
FROM unnest($3::text[], $4::text[], $5::text[], $6::int[], $7::int[], $8::bigint[], $9::bigint[],
    $10::text[], $11::text[], $12::text[]) AS given(job_id, tenant_id, kind, priority, max_attempts, run_at,
    delay, idempotency_key, payload_json, request_id)"""
_GIVEN_P: Final = f"""
WITH given AS (
    SELECT *, {TIME_P} AS now, COALESCE(run_at, {TIME_P} + delay) AS starts FROM ({{given}}) AS given
), put AS ({_NEW} {{unless_there}} RETURNING {COLUMNS})
SELECT {{what}} FROM (SELECT pg_notify('{CHANNEL}', $2)) AS told LEFT JOIN put ON {{which}}"""
_GIVEN_S: Final = f"""
WITH given AS (
    SELECT {at(0)} AS job_id, {at(1)} AS tenant_id, {at(2)} AS kind, {at(3)} AS priority,
        {at(4)} AS max_attempts, {TIME_S} AS now, COALESCE({at(5)}, {TIME_S} + {at(6)}) AS starts,
        {at(7)} AS idempotency_key, {at(8)} AS payload_json, {at(9)} AS request_id
    FROM json_each(?2)
) {_NEW} {_UNLESS_THERE} RETURNING {{what}}"""


_KEYS: Final = "tenant_id, idempotency_key, job_id"
_PUT_P: Final = {
    (whole, keyed): _GIVEN_P.format(
        given=_ONE_P if whole else _MANY_P,
        unless_there=_UNLESS_THERE if keyed else "",
        what=COLUMNS if whole else _KEYS,
        which="true" if whole else "idempotency_key IS NOT NULL",
    )
    for whole in (True, False)
    for keyed in (True, False)
}
_PUT_S: Final = {True: _GIVEN_S.format(what=COLUMNS), False: _GIVEN_S.format(what=_KEYS)}


async def put(executor: Executor, given: tuple[Any, ...], now: int | None) -> Any:
    """`COLUMNS` of the job, or of the one that is queued or running under its key."""
    if executor.dialect.name == "postgresql":
        return (await run(executor, _PUT_P[True, given[_KEY] is not None], now, given[2], *given))[0]
    return (await run(executor, _PUT_S[True], now, as_json_rows([given])))[0]


async def put_many(executor: Executor, given: Sequence[tuple[Any, ...]], now: int | None) -> Rows:
    """Tenant, key and id of those that have a key: the new ones, and those that were there already."""
    if executor.dialect.name != "postgresql":
        return await run(executor, _PUT_S[False], now, as_json_rows(given))
    arrays = condense(given, nullable=(_RUN_AT, _KEY))
    kinds = ",".join(set(arrays[2]))
    rows = await run(executor, _PUT_P[False, bool(arrays[_KEY])], now, kinds, *arrays)
    return [row for row in rows if row.job_id is not None]


# Ripen: jobs whose time has come. A delayed job may be claimed, a lease that ran out ends.

_RIPE_P: Final = f"""
SELECT job_id FROM jobs WHERE locked_until <= {TIME_P} AND status = '{{status}}'
ORDER BY locked_until LIMIT {MAX_RIPENED} FOR UPDATE SKIP LOCKED"""
_RIPE_S: Final = f"""
SELECT job_id FROM jobs WHERE locked_until <= {TIME_S} AND status = '{{status}}'
ORDER BY locked_until LIMIT {MAX_RIPENED}"""
_DUE: Final = "UPDATE jobs SET locked_until = NULL WHERE job_id"
_LAPSED: Final = """
UPDATE jobs SET
    status = CASE WHEN cancel_requested THEN 'canceled' WHEN attempt >= max_attempts THEN 'failed'
        ELSE 'queued' END,
    finished_at = CASE WHEN cancel_requested OR attempt >= max_attempts THEN {latest} END,
    last_error = CAST({object}('code', 'LEASE_EXPIRED', 'detail', 'the worker ' || locked_by
        || ' was not heard from in time' || CASE WHEN attempt >= max_attempts
        THEN ', in the last of ' || max_attempts || ' attempts' ELSE '' END) AS text),
    locked_until = NULL, locked_by = NULL, lease_token = NULL, event_seq = event_seq + 1
WHERE job_id"""
LATEST_P: Final = f"GREATEST({TIME_P}, started_at)"
LATEST_S: Final = f"max({TIME_S}, started_at)"

_DUE_P: Final = f"""
WITH changed AS ({_DUE} = ANY(ARRAY({_RIPE_P.format(status="queued")})) RETURNING kind)
SELECT kind, pg_notify('{CHANNEL}', kind) FROM changed GROUP BY kind"""
_DUE_S: Final = f"{_DUE} IN ({_RIPE_S.format(status='queued')}) RETURNING kind"
_LAPSED_P: Final = f"""
WITH changed AS (
    {_LAPSED.format(latest=LATEST_P, object="json_build_object")}
    = ANY(ARRAY({_RIPE_P.format(status="running")})) RETURNING {NOTED}
), noted AS ({NOTE_P}), ended AS ({ENDED_P}), waiting AS (
    SELECT kind, pg_notify('{CHANNEL}', kind) AS told FROM changed WHERE status = 'queued' GROUP BY kind
)
SELECT job_id, changed.kind, status, told FROM changed LEFT JOIN waiting USING (kind)"""
_LAPSED_S: Final = f"""
{_LAPSED.format(latest=LATEST_S, object="json_object")}
IN ({_RIPE_S.format(status="running")}) RETURNING job_id, kind, status, {HEARD}"""


async def ripen(executor: Executor, now: int | None) -> set[str]:
    """The kinds that have more to claim now."""
    if executor.dialect.name == "postgresql":
        due = await run(executor, _DUE_P, now)
        lapsed = await run(executor, _LAPSED_P, now)
    else:
        due = await run(executor, _DUE_S, now)
        lapsed = await run(executor, _LAPSED_S, now)
        await note(executor, lapsed, now)
        await note_ended(executor, lapsed)
    return {row.kind for row in due} | {row.kind for row in lapsed if row.status == "queued"}


# Claim. `turn` goes round the tenants that have something to claim, one step down the index for each, from
# the one after the tenant that was served last. The first few jobs of each are candidates, in turns.
# (By kind and tenant together, because only one index has both.)

_NEXT: Final = f"""
SELECT CASE WHEN next.kind = turn.kind THEN next.tenant_id END FROM (
    SELECT jobs.kind, jobs.tenant_id FROM jobs WHERE {_CLAIMABLE}
        AND (jobs.kind, jobs.tenant_id) > (turn.kind, {{place}}) ORDER BY jobs.kind, jobs.tenant_id LIMIT 1
) AS next"""
_ROUND: Final = f"""
COALESCE(({_NEXT.format(place="turn.tenant_id")}),
    CASE WHEN NOT {{wrapped}} THEN ({_NEXT.format(place="''")}) END)"""
_FIRST: Final = f"""
SELECT jobs.job_id FROM jobs WHERE {_CLAIMABLE} AND jobs.kind = turn.kind
    AND jobs.tenant_id = turn.tenant_id ORDER BY priority, run_at, job_id"""
_CHOSEN: Final = """chosen AS (
    SELECT job_id, room, row_number() OVER (PARTITION BY kind ORDER BY nth, place) AS number FROM candidate
)"""
_BEGUN_P: Final = f"GREATEST({TIME_P}, queued_at)"
_BEGUN_S: Final = f"max({TIME_S}, queued_at)"
_CLAIM: Final = """
UPDATE jobs SET status = 'running', attempt = attempt + 1, progress_pct = 0,
    started_at = COALESCE(started_at, {latest}), locked_until = {now} + {seconds}, locked_by = {worker},
    lease_token = {lease}, event_seq = event_seq + 1
WHERE job_id"""
_CLAIM_P: Final = f"""
WITH RECURSIVE turn(kind, room, served, tenant_id, wrapped, place) AS (
    SELECT *, served, false, 0 FROM unnest($2::text[], $3::int[], $4::text[]) AS wanted(kind, room, served)
    UNION ALL
    SELECT kind, room, served, next.tenant_id, wrapped OR next.tenant_id <= turn.tenant_id, place + 1
    FROM turn CROSS JOIN LATERAL (SELECT {_ROUND.format(wrapped="wrapped")} AS tenant_id OFFSET 0) AS next
    WHERE place < GREATEST(room, {_MIN_TENANTS}) AND next.tenant_id IS NOT NULL
        AND NOT ((wrapped OR next.tenant_id <= turn.tenant_id) AND next.tenant_id > served)
), candidate AS MATERIALIZED (
    SELECT kind, room, place, picked.job_id, nth
    FROM (SELECT *, count(*) OVER (PARTITION BY kind) AS tenants FROM turn WHERE place > 0) AS turn
    CROSS JOIN LATERAL unnest(ARRAY(
        {_FIRST} LIMIT LEAST(room, GREATEST(1, 2 * room / tenants)) FOR UPDATE SKIP LOCKED
    )) WITH ORDINALITY AS picked(job_id, nth)
), {_CHOSEN}, changed AS (
    {_CLAIM.format(now=TIME_P, latest=_BEGUN_P, worker="$5", lease="$6", seconds="$7::bigint")}
    = ANY(ARRAY(SELECT job_id FROM chosen WHERE number <= room)) RETURNING {COLUMNS}
), noted AS ({NOTE_P})
SELECT {COLUMNS} FROM changed ORDER BY priority, run_at, job_id"""
# SQLite can leave out only in the next step what PostgreSQL leaves out at once.
_WRAPPED: Final = "(wrapped OR (place > 0 AND tenant_id <= before))"
_OVER: Final = f"({_WRAPPED} AND tenant_id > served)"
CLAIM_S: Final = f"""
WITH RECURSIVE turn AS (
    SELECT {at(0)} AS kind, {at(1)} AS room, {at(2)} AS served, '' AS before, false AS wrapped,
        {at(2)} AS tenant_id, 0 AS place
    FROM json_each(?2)
    UNION ALL
    SELECT kind, room, served, tenant_id, {_WRAPPED}, {_ROUND.format(wrapped=_WRAPPED)}, place + 1
    FROM turn WHERE place < max(room, {_MIN_TENANTS}) AND tenant_id IS NOT NULL AND NOT {_OVER}
), candidate AS (
    SELECT kind, room, place, picked.value AS job_id, picked.key AS nth
    FROM turn, json_each((SELECT json_group_array(job_id) FROM ({_FIRST} LIMIT ?3))) AS picked
    WHERE place > 0 AND tenant_id IS NOT NULL AND NOT {_OVER}
), {_CHOSEN}
{_CLAIM.format(now=TIME_S, latest=_BEGUN_S, worker="?4", lease="?5", seconds="?6")}
    IN (SELECT job_id FROM chosen WHERE number <= room) RETURNING {COLUMNS}"""


async def claim(
    executor: Executor,
    wanted: Sequence[tuple[str, int, str]],
    worker: str,
    token: str,
    milliseconds: int,
    now: int | None,
) -> Rows:
    """`wanted` is kind, how many at most, and the tenant that was served last."""
    if executor.dialect.name == "postgresql":
        return await run(executor, _CLAIM_P, now, *columns(wanted), worker, token, milliseconds)
    most = max(room for _, room, _ in wanted)
    rows = await run(executor, CLAIM_S, now, as_json_rows(wanted), most, worker, token, milliseconds)
    await note(executor, rows, now)
    return sorted(rows, key=lambda row: (row.priority, row.run_at, row.job_id))


# Look: how long until there is something to claim.

_LOOK: Final = f"""
SELECT EXISTS (SELECT 1 FROM jobs WHERE {_CLAIMABLE} AND kind {{kinds}}) AS claimable,
    (SELECT min(locked_until) FROM jobs WHERE locked_until IS NOT NULL) - {{now}} AS ripe_in"""
_LOOK_P: Final = _LOOK.format(now=TIME_P, kinds="= ANY($2::text[])")
_LOOK_S: Final = _LOOK.format(now=TIME_S, kinds="IN (SELECT value FROM json_each(?2))")


async def look(executor: Executor, kinds: Sequence[str], now: int | None) -> int | None:
    """Milliseconds until there may be something to claim: 0 now, None when that is not known."""
    if executor.dialect.name == "postgresql":
        found = (await run(executor, _LOOK_P, now, list(kinds)))[0]
    else:
        found = (await run(executor, _LOOK_S, now, as_json_rows(kinds)))[0]
    if found.claimable:
        return 0
    return None if found.ripe_in is None else max(0, found.ripe_in)


async def note(executor: Executor, changed: Rows, now: int | None) -> None:
    if changed:
        await run(executor, _NOTE_S, now, as_json_rows([row.job_id for row in changed]))


async def note_ended(executor: Executor, changed: Rows) -> None:
    """On SQLite, where a statement writes to one table."""
    if ended := [row.job_id for row in changed if row.heard]:
        await run(executor, _ENDED_S, as_json_rows(ended))


def columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def condense(rows: Sequence[tuple[Any, ...]], *, nullable: Container[int]) -> list[list[Any]]:
    """Columns for `unnest`, which fills up the short ones with nulls: if all values of one are the same, only
    the first is sent, and the statement says it again. Where null is a value, that goes for null alone."""
    return [_condense(column, place in nullable) for place, column in enumerate(columns(rows))]


def _condense(column: list[Any], nullable: bool) -> list[Any]:
    if len(set(column)) > 1:
        return column
    if column[0] is None:
        return []
    return column if nullable else column[:1]


def as_json_rows(value: Any) -> str:
    return _encode(value).decode()
