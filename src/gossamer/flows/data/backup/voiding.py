"""What must not outlive a restore or a move: leases, and after a restore sessions.

Leases end at once under a token that nobody knows, so what they held goes the same way as after a lost
worker, and a worker that is still alive can write nothing. Sessions that somebody ended after the backup must
not begin again, so all of them end.
"""

import secrets

from gossamer.state.backup.row_store import RowStore

_LEASES = (
    "UPDATE jobs SET lease_token = '{token}', locked_until = {now} WHERE lease_token IS NOT NULL",
    """
UPDATE hosts SET lease_token = '{token}', locked_until = {now}, due_at = {now}
WHERE lease_token IS NOT NULL""",
    "UPDATE payments SET token = '{token}', held_until = 0 WHERE delivered_at IS NULL",
    "UPDATE schedules SET lease_token = NULL, leased_until = NULL WHERE lease_token IS NOT NULL",
    "UPDATE unindexed SET due_at = {now} WHERE due_at > {now}",
    "DELETE FROM workers",
)
_SESSIONS = ("DELETE FROM sessions", "DELETE FROM sign_in_links")


async def end_leases(rows: RowStore, now: int) -> None:
    token = secrets.token_hex(16)
    for statement in _LEASES:
        await rows.execute(statement.format(token=token, now=now))


async def end_sessions(rows: RowStore) -> None:
    for statement in _SESSIONS:
        await rows.execute(statement)
